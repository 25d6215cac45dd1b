import {
  type CustomDecorator,
  type ExecutionContext,
  Injectable,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import type { FastifyContextConfig, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { unescape } from 'node:querystring';
import { namedError } from '#platform/errors/errors';
import { ExecutionContextHost } from '#platform/foreign/nest-internals';
import { THROTTLER_LIMIT, THROTTLER_SKIP, THROTTLER_TTL } from '#platform/foreign/throttler-internals';
import { clientKey, trackerKey } from '#platform/http/client-address';
import type { RouteTarget } from '#platform/http/route-targets';
import { LimitsSettings } from './limits.settings';
import type { Count } from './memory-counter';
import { RateLimitStorage } from './rate-limit.storage';

/** `general` counts everywhere, `auth` only where a decorator names it. A request must pass all that count. */
const NAMES = ['general', 'auth'] as const;
type Name = (typeof NAMES)[number];
/** Decorators mean `general` by this name, except for `@SkipThrottle()`, which means both limits. */
const DEFAULT = 'default';
/** Prefix of the keys under which the decorators store their options. */
const THROTTLER = 'THROTTLER:';

/** One limit of a route. */
interface Limit {
  name: Name;
  limit: number;
  /** Key of the count: shared by all routes, or of this route alone if it has its own limit or window. */
  bucket: string;
  windowMs: number;
  target: RouteTarget;
}

/** Settings in the `config` of Fastify's own routes, in the same form as those of the decorators. */
interface RouteThrottling {
  throttle?: Parameters<typeof Throttle>[0];
  skipThrottle?: true;
}

declare module 'fastify' {
  interface FastifyContextConfig extends RouteThrottling {
    limits?: Limit[];
  }
}

/** Knows callers who may pass although a limit is exceeded. */
export interface Sparing {
  /**
   * A name of the caller that nobody can make up, or undefined. Is asked for every request beyond the limits, so it
   * must be cheap: no query.
   */
  nameOf(context: ExecutionContext): Promise<string | undefined>;
  /** Whether the caller of that name may pass. Is asked a few times in a window for each name. */
  mayPass(context: ExecutionContext): Promise<boolean>;
}

const SPARED_BY = 'limits:spared-by';

/**
 * What the handler does must not wait for the end of a window. Its requests count like all others, but beyond a limit
 * the callers whom the provider names pass, each a few times in a window.
 */
export const SparedBy = (provider: Type<Sparing>): CustomDecorator => SetMetadata(SPARED_BY, provider);

const whoSpares = ({ handler }: RouteTarget): Type<Sparing> | undefined =>
  Reflect.getMetadata(SPARED_BY, handler) as Type<Sparing> | undefined;

/** Stands in for the controller of routes without one. */
class NoController {}
const ANYWHERE: RouteTarget = { controller: NoController, handler: () => undefined, method: '' };

/** How often in a window a spared caller passes: he may have to try again. */
const SPARED = 5;

const left = ({ limit, hits }: Count): number => limit - hits;

/**
 * Counts requests per client IP in fixed windows. Runs as a Fastify hook before the body is read, because a Nest
 * guard never sees unknown paths or bodies that fail to parse. The limits of each route are read once at startup: from
 * `@Throttle` and `@SkipThrottle`, or for Fastify's own routes from `throttle` and `skipThrottle` in their `config`.
 */
@Injectable()
export class RateLimiter {
  /** Those of unknown paths. */
  private readonly general: Limit[];
  /** Those of unknown paths under /auth. */
  private readonly auth: Limit[];

  constructor(
    private readonly settings: LimitsSettings,
    private readonly storage: RateLimitStorage,
    private readonly modules: ModuleRef,
  ) {
    this.general = [this.limitOf('general', ANYWHERE)];
    this.auth = [...this.general, this.limitOf('auth', ANYWHERE)];
  }

  /** Fastify hook that sets `config.limits`. */
  readonly onRoute = (route: RouteOptions): void => {
    const { config = {} } = route;
    const target = config.target ?? targetOf(`${String(route.method)} ${route.url}`, config);
    refuseUnknown(target);
    const limits = NAMES.filter((name) => counts(target, name)).map((name) => this.limitOf(name, target));
    route.config = { ...config, limits };
  };

  /** Uses the matched route: a path can be written in many ways. Unknown paths under `/auth` count as sign-in. */
  of({ routeOptions, url }: FastifyRequest): Limit[] {
    // Fastify routes that were added before the hook have none.
    const { limits } = routeOptions.config as FastifyContextConfig;
    return limits ?? (isUnderAuth(url) ? this.auth : this.general);
  }

  /**
   * Fastify hook.
   * @throws ApiError 429 beyond a limit, unless the route spares its caller
   */
  readonly onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const limits = this.of(request);
    if (limits.length === 0) return;
    const client = clientKey(request.ip ?? '');
    const counts = await Promise.all(
      limits.map(({ bucket, limit, windowMs }) => this.storage.count(client, bucket, limit, windowMs)),
    );
    const tightest = counts.reduce((least, each) => (left(each) < left(least) ? each : least));
    void reply.header('X-RateLimit-Limit', tightest.limit);
    void reply.header('X-RateLimit-Remaining', Math.max(0, left(tightest)));
    void reply.header('X-RateLimit-Reset', tightest.secondsLeft);
    const index = counts.findIndex((each) => left(each) < 0);
    if (index < 0 || (await this.isSpared(limits[index], request, reply))) return;
    void reply.header('Retry-After', counts[index].secondsLeft);
    throw namedError(`rate_limited_${limits[index].name}`);
  };

  private async isSpared(
    { target, windowMs }: Limit,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<boolean> {
    const provider = whoSpares(target);
    if (!provider) return false;
    const by = this.modules.get(provider, { strict: false });
    const context = contextOf(target, [request, reply]);
    const name = await by.nameOf(context);
    if (name === undefined) return false;
    const { hits } = await this.storage.count(trackerKey(name), `spared:${windowMs}`, SPARED, windowMs);
    return hits <= SPARED && by.mayPass(context);
  }

  private limitOf(name: Name, target: RouteTarget): Limit {
    const { RATE_LIMIT_WINDOW, RATE_LIMIT_GENERAL, RATE_LIMIT_AUTH } = this.settings;
    const own = (key: string): unknown =>
      declared(target, key, name === 'general' ? [name, DEFAULT] : [name]);
    const where = `${nameOf(target)}: ${name}`;
    const [limit, ttl] = [own(THROTTLER_LIMIT), own(THROTTLER_TTL)];
    const windowMs = numberOf(ttl ?? RATE_LIMIT_WINDOW * 1000, 1, `ttl of ${where}`);
    const allowed = limit ?? (name === 'auth' ? RATE_LIMIT_AUTH : RATE_LIMIT_GENERAL);
    return {
      name,
      bucket: limit === undefined && ttl === undefined ? name : `${name}:${nameOf(target)}:${windowMs}`,
      limit: numberOf(allowed, 0, `limit of ${where}`),
      windowMs,
      target,
    };
  }
}

/** A route of Fastify's own, as if its handler had the decorators. */
function targetOf(route: string, { throttle, skipThrottle }: RouteThrottling): RouteTarget {
  const handler = (): undefined => undefined;
  if (throttle) Throttle(throttle)(handler);
  if (skipThrottle) SkipThrottle()(handler);
  return { ...ANYWHERE, handler, method: route };
}

/** What the decorators of the handler say, or else those of its controller. */
function declared({ handler, controller }: RouteTarget, key: string, names: string[]): unknown {
  for (const target of [handler, controller])
    for (const name of names) {
      const value: unknown = Reflect.getMetadata(key + name, target);
      if (value !== undefined) return value;
    }
  return undefined;
}

const counts = (target: RouteTarget, name: Name): boolean =>
  !declared(target, THROTTLER_SKIP, [name, DEFAULT]) &&
  (name === 'general' || isNamed(name, [target.handler, target.controller]));

/** Whether `@Throttle` of a handler or its controller names a limit. */
const isNamed = (name: Name, targets: object[]): boolean =>
  targets.some((target) => Reflect.hasMetadata(THROTTLER_LIMIT + name, target));

/** Options of the decorators that are read here, with the names that they may have. */
const KNOWN = new Set(
  [THROTTLER_LIMIT, THROTTLER_TTL, THROTTLER_SKIP].flatMap((key) =>
    [...NAMES, DEFAULT].map((name) => key + name),
  ),
);

/** A misspelt name would leave a route without its limit. Other options need the context of a handler. */
function refuseUnknown(target: RouteTarget): void {
  for (const holder of [target.handler, target.controller])
    for (const key of (Reflect.getMetadataKeys(holder) as unknown[]).map(String)) {
      // `@Throttle` stores each option, also those that are left out.
      const isSet = key.startsWith(THROTTLER_LIMIT) || Reflect.getMetadata(key, holder) !== undefined;
      if (key.startsWith(THROTTLER) && !KNOWN.has(key) && isSet)
        throw new Error(`${nameOf(target)}: ${key} is not supported: limits are ${NAMES.join(', ')}`);
    }
}

const nameOf = ({ controller, method }: RouteTarget): string =>
  controller === NoController ? method : `${controller.name}.${method}`;

/** The context that a guard would get, but before authentication and the body. */
function contextOf({ controller, handler }: RouteTarget, args: unknown[]): ExecutionContext {
  const context = new ExecutionContextHost(args, controller, handler);
  context.setType('http');
  return context;
}

function numberOf(value: unknown, least: number, what: string): number {
  if (typeof value !== 'number' || !(value >= least))
    throw new Error(`${what} must be a number from ${least}, not ${String(value)}`);
  return value;
}

/** Whether a path begins with /auth as a lenient server reads it: decoded, without dots and empty segments. */
function isUnderAuth(url: string): boolean {
  const decoded = unescape(url.replace(/[?#].*/, '')).replaceAll(/[?#]/g, '_');
  return /^[/\\]+(api[/\\]+)?auth([/\\]|$)/i.test(new URL(`http://host${decoded}`).pathname);
}
