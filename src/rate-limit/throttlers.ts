import type { ExecutionContext } from '@nestjs/common';
import type { ThrottlerModuleOptions, ThrottlerStorage } from '@nestjs/throttler';
import { THROTTLER_LIMIT } from '@nestjs/throttler/dist/throttler.constants';
import type { Environment } from '../config/environment';

type SkipIf = (context: ExecutionContext) => boolean;

const decidedAtStart = new WeakSet<SkipIf>();

/** Whether a `skipIf` looks at nothing but the route, so that its answer is asked for once and not for each request. */
export const isDecidedAtStart = (skipIf: SkipIf): boolean => decidedAtStart.has(skipIf);

/** Leaves a limit to those routes whose handler or controller names it: `@Throttle({ auth: {} })`. */
function unlessNamed(name: string): SkipIf {
  const skipIf: SkipIf = (context) =>
    ![context.getHandler(), context.getClass()].some((target) =>
      Reflect.hasMetadata(THROTTLER_LIMIT + name, target),
    );
  decidedAtStart.add(skipIf);
  return skipIf;
}

/** The limits of the service. Each counts by itself, and every one of them has to let a request pass. */
export function throttlerOptions(
  environment: Environment,
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
