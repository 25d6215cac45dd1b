import type { ExecutionContext } from '@nestjs/common';
import { SkipThrottle, Throttle, type ThrottlerOptions } from '@nestjs/throttler';
import { ExecutionContextHost } from '#platform/foreign/nest-internals';
import {
  THROTTLER_BLOCK_DURATION,
  THROTTLER_KEY_GENERATOR,
  THROTTLER_LIMIT,
  THROTTLER_SKIP,
  THROTTLER_TRACKER,
  THROTTLER_TTL,
} from '#platform/foreign/throttler-internals';
import type { RouteTarget } from '#platform/http/route-targets';

/** Settings in the `config` of Fastify's own routes, in the same form as those of the decorators. */
export interface RouteThrottling {
  throttle?: Parameters<typeof Throttle>[0];
  skipThrottle?: true | Parameters<typeof SkipThrottle>[0];
}

/** The settings of a route's decorators for one limit. */
export interface Declaration extends Partial<Omit<ThrottlerOptions, 'name' | 'skipIf'>> {
  skip?: boolean;
}

/** Decorators store settings under the name of the limit. `default` also means the general one. */
const DEFAULT = 'default';
const GENERAL = 'general';

/** Stands in for the controller of routes without one. */
class NoController {}

export const NO_TARGET: RouteTarget = { controller: NoController, handler: () => undefined, method: '' };

/** A route of Fastify's own, as if its handler had the decorators. */
export function targetOf(route: string, { throttle, skipThrottle }: RouteThrottling): RouteTarget {
  const handler = (): undefined => undefined;
  if (throttle) Throttle(throttle)(handler);
  if (skipThrottle) SkipThrottle(skipThrottle === true ? undefined : skipThrottle)(handler);
  return { ...NO_TARGET, handler, method: route };
}

/** The settings of the handler for a limit, or else those of its controller. */
export function declared({ controller, handler }: RouteTarget, name: string): Declaration {
  const first = <T>(key: string, names: string[]): T | undefined => {
    for (const target of [handler, controller])
      for (const each of names) {
        const value = Reflect.getMetadata(key + each, target) as T | undefined;
        if (value !== undefined) return value;
      }
    return undefined;
  };
  const names = name === GENERAL ? [name, DEFAULT] : [name];
  return {
    // `@SkipThrottle()` skips all of them.
    skip: first<boolean>(THROTTLER_SKIP, [name, DEFAULT]),
    limit: first(THROTTLER_LIMIT, names),
    ttl: first(THROTTLER_TTL, names),
    blockDuration: first(THROTTLER_BLOCK_DURATION, names),
    getTracker: first(THROTTLER_TRACKER, names),
    generateKey: first(THROTTLER_KEY_GENERATOR, names),
  };
}

/** Refuses misspelt names, because they would leave a route without its limit. */
export function refuseUnknownNames(target: RouteTarget, known: string[]): void {
  const prefixes = [THROTTLER_LIMIT, THROTTLER_SKIP];
  for (const where of [target.handler, target.controller])
    for (const key of Reflect.getMetadataKeys(where).filter((each) => typeof each === 'string')) {
      const prefix = prefixes.find((each) => key.startsWith(each));
      const name = prefix && key.slice(prefix.length);
      if (name !== undefined && name !== DEFAULT && !known.includes(name))
        throw new Error(`${nameOf(target)}: there is no limit '${name}', only ${known.join(', ')}`);
    }
}

export const nameOf = ({ controller, method }: RouteTarget): string =>
  controller === NoController ? method : `${controller.name}.${method}`;

/** The context that a guard would get, but before authentication and the body. */
export function contextOf({ controller, handler }: RouteTarget, args: unknown[] = []): ExecutionContext {
  const context = new ExecutionContextHost(args, controller, handler);
  context.setType('http');
  return context;
}
