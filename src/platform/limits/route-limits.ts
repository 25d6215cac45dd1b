import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type ThrottlerModuleOptions, type ThrottlerOptions, getOptionsToken } from '@nestjs/throttler';
import type { FastifyContextConfig, FastifyRequest, RouteOptions } from 'fastify';
import { type RouteTarget, RouteTargets } from '#platform/http/route-targets';
import {
  type Declaration,
  NO_TARGET,
  type RouteThrottling,
  contextOf,
  declared,
  nameOf,
  refuseUnknownNames,
  targetOf,
} from './declarations';
import { isDecidedAtStart } from './throttlers';

/** One limit of a route. */
export interface Limit {
  /** Name of the throttler. */
  name: string;
  /** Key of the count: shared by all routes, or of this route alone if it has its own limit or window. */
  bucket: string;
  limit: number;
  windowMs: number;
  setHeaders: boolean;
  errorMessage?: Options['errorMessage'];
  target: RouteTarget;
  /** Functions from options and decorators, called for each request. Most limits have none. */
  perRequest?: PerRequest;
}

type Options = Exclude<ThrottlerModuleOptions, unknown[]>;
type PerRequest = Pick<ThrottlerOptions, 'skipIf' | 'ignoreUserAgents' | 'getTracker' | 'generateKey'> & {
  limit?: Extract<ThrottlerOptions['limit'], (...args: never[]) => unknown>;
};

declare module 'fastify' {
  interface FastifyContextConfig extends RouteThrottling {
    limits?: Limit[];
  }
}

/**
 * The limits of each route, read once at startup from the options of ThrottlerModule, `@Throttle` and
 * `@SkipThrottle`. For Fastify's own routes they come from `throttle` and `skipThrottle` in their `config`.
 */
@Injectable()
export class RouteLimits implements OnApplicationBootstrap {
  private readonly options: Options;
  /** Limits of unknown paths. */
  private readonly anywhere: Limit[];
  /** Limits of unknown paths under a controller that names a limit. */
  private readonly beneath: { segments: string[]; limits: Limit[] }[] = [];

  constructor(
    @Inject(getOptionsToken()) options: ThrottlerModuleOptions,
    private readonly targets: RouteTargets,
  ) {
    this.options = Array.isArray(options) ? { throttlers: options } : options;
    this.anywhere = this.sharedBy(NO_TARGET);
  }

  /** Fastify hook that sets `config.limits`. */
  readonly onRoute = (route: RouteOptions): void => {
    const { config = {} } = route;
    const target = config.target ?? targetOf(`${String(route.method)} ${route.url}`, config);
    route.config = { ...config, limits: this.read(target) };
  };

  onApplicationBootstrap(): void {
    for (const { controller, path } of this.targets.controllers) {
      const limits = this.sharedBy({ ...NO_TARGET, controller });
      if (limits.length > this.anywhere.length) this.beneath.push({ segments: segmentsOf(path), limits });
    }
  }

  /** Uses the matched route: a path can be written in many ways. Unknown paths count like those around them. */
  of(request: FastifyRequest): Limit[] {
    // Fastify routes that were added before the hook have none.
    const { limits } = request.routeOptions.config as FastifyContextConfig;
    return limits ?? this.ofUnknown(request.url);
  }

  private ofUnknown(url: string): Limit[] {
    const path = segmentsOf(url.replace(/[?#].*$/s, ''));
    const around = this.beneath.find(({ segments }) => segments.every((segment, i) => segment === path[i]));
    return around?.limits ?? this.anywhere;
  }

  private read(target: RouteTarget): Limit[] {
    const { throttlers } = this.options;
    refuseUnknownNames(
      target,
      throttlers.map(({ name }) => name ?? 'default'),
    );
    return throttlers.flatMap((throttler) => {
      const declaration = declared(target, throttler.name ?? 'default');
      if (declaration.skip || !this.appliesTo(target, throttler)) return [];
      return [this.limitOf(throttler, declaration, target)];
    });
  }

  /** The limits that hold unless a decorator says otherwise. Their counts are shared by all routes. */
  private sharedBy(target: RouteTarget): Limit[] {
    return this.options.throttlers
      .filter((throttler) => this.appliesTo(target, throttler))
      .map((throttler) => this.limitOf(throttler, {}, target));
  }

  private appliesTo(target: RouteTarget, { skipIf }: ThrottlerOptions): boolean {
    return !skipIf || !isDecidedAtStart(skipIf) || !skipIf(contextOf(target));
  }

  private limitOf(throttler: ThrottlerOptions, own: Declaration, target: RouteTarget): Limit {
    const { options } = this;
    const { name = 'default' } = throttler;
    const option = <K extends keyof ThrottlerOptions & keyof Declaration>(key: K) =>
      own[key] ?? throttler[key];
    const where = `${nameOf(target)}: ${name}`;
    if (option('blockDuration') !== undefined)
      throw new Error(`${where}: blockDuration is not supported, as a window ends when it ends`);
    const limit = option('limit');
    const windowMs = numberOf(option('ttl'), 1, `ttl of ${where}`);
    const skipIf = throttler.skipIf ?? options.skipIf;
    const perRequest: PerRequest = {
      skipIf: skipIf && isDecidedAtStart(skipIf) ? undefined : skipIf,
      ignoreUserAgents: throttler.ignoreUserAgents ?? options.ignoreUserAgents,
      getTracker: option('getTracker') ?? options.getTracker,
      generateKey: option('generateKey') ?? options.generateKey,
      limit: typeof limit === 'function' ? limit : undefined,
    };
    const isShared = own.limit === undefined && own.ttl === undefined;
    return {
      name,
      bucket: isShared ? name : `${name}:${nameOf(target)}:${windowMs}`,
      limit: typeof limit === 'function' ? 0 : numberOf(limit, 0, `limit of ${where}`),
      windowMs,
      setHeaders: throttler.setHeaders ?? options.setHeaders ?? true,
      errorMessage: options.errorMessage,
      target,
      ...(Object.values(perRequest).some((each) => each !== undefined) && { perRequest }),
    };
  }
}

/** A number that is at least `least`. The decorators accept text too. */
export function numberOf(value: unknown, least: number, what: string): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !(number >= least))
    throw new Error(`${what} must be a number from ${least}, not ${String(value)}`);
  return number;
}

/** The segments of a path as a lenient server reads them: decoded, lower-cased, without empty ones and dots. */
function segmentsOf(path: string): string[] {
  const segments: string[] = [];
  const text = decode(path).toLowerCase();
  for (const part of text.split(/[/\\]+/))
    if (part === '..') segments.pop();
    else if (part !== '' && part !== '.') segments.push(part);
  return segments[0] === 'api' ? segments.slice(1) : segments;
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
