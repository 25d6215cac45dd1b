/**
 * Every part of @nestjs/throttler that it does not export, with the reason why we need it. Others import these from
 * here; throttling.e2e-spec.ts fails if one of them changes.
 */

/**
 * Where `@Throttle` and `@SkipThrottle` store what they say, with the name of the limit behind. RateLimiter reads it
 * at the start, because requests are counted before NestJS asks any guard.
 */
export { THROTTLER_LIMIT, THROTTLER_SKIP, THROTTLER_TTL } from '@nestjs/throttler/dist/throttler.constants';
