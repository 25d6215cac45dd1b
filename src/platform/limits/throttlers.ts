import type { ExecutionContext } from '@nestjs/common';
import type { ThrottlerModuleOptions, ThrottlerStorage } from '@nestjs/throttler';
import { THROTTLER_LIMIT } from '#platform/foreign/throttler-internals';
import type { LimitsSettings } from './limits.settings';

type SkipIf = (context: ExecutionContext) => boolean;

const decidedAtStart = new WeakSet<SkipIf>();

/** Whether a `skipIf` depends only on the route. It is then called once at startup and not for each request. */
export const isDecidedAtStart = (skipIf: SkipIf): boolean => decidedAtStart.has(skipIf);

/** Applies a limit only to routes whose handler or controller names it: `@Throttle({ auth: {} })`. */
function unlessNamed(name: string): SkipIf {
  const skipIf: SkipIf = (context) =>
    ![context.getHandler(), context.getClass()].some((target) =>
      Reflect.hasMetadata(THROTTLER_LIMIT + name, target),
    );
  decidedAtStart.add(skipIf);
  return skipIf;
}

/** The limits of the service. They count separately, and a request must pass all of them. */
export function throttlerOptions(
  environment: LimitsSettings,
  storage: ThrottlerStorage,
): ThrottlerModuleOptions {
  const ttl = environment.RATE_LIMIT_WINDOW * 1000;
  return {
    storage,
    throttlers: [
      { name: 'general', limit: environment.RATE_LIMIT_GENERAL, ttl },
      { name: 'auth', limit: environment.RATE_LIMIT_AUTH, ttl, skipIf: unlessNamed('auth') },
    ],
  };
}
