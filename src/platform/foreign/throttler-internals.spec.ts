import { SkipThrottle, Throttle } from '@nestjs/throttler';
import {
  THROTTLER_BLOCK_DURATION,
  THROTTLER_KEY_GENERATOR,
  THROTTLER_LIMIT,
  THROTTLER_SKIP,
  THROTTLER_TRACKER,
  THROTTLER_TTL,
} from './throttler-internals';

const getTracker = (): string => 'tracker';
const generateKey = (): string => 'key';

@Throttle({ some: { limit: 1, ttl: 2, blockDuration: 3, getTracker, generateKey } })
@SkipThrottle({ other: true })
class Throttled {}

describe('the insides of @nestjs/throttler that we use', () => {
  it.each([
    ['THROTTLER_LIMIT', THROTTLER_LIMIT, 1],
    ['THROTTLER_TTL', THROTTLER_TTL, 2],
    ['THROTTLER_BLOCK_DURATION', THROTTLER_BLOCK_DURATION, 3],
    ['THROTTLER_TRACKER', THROTTLER_TRACKER, getTracker],
    ['THROTTLER_KEY_GENERATOR', THROTTLER_KEY_GENERATOR, generateKey],
  ])('%s, with the name of the limit behind, is where @Throttle stores it', (_, key, expected) => {
    expect(Reflect.getMetadata(`${key}some`, Throttled)).toBe(expected);
    expect(Reflect.hasMetadata(`${key}other`, Throttled)).toBe(false);
  });

  it('THROTTLER_SKIP, with the name of the limit behind, is where @SkipThrottle stores it', () => {
    expect(Reflect.getMetadata(`${THROTTLER_SKIP}other`, Throttled)).toBe(true);
    expect(Reflect.hasMetadata(`${THROTTLER_SKIP}some`, Throttled)).toBe(false);
  });
});
