import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '#platform/errors/error-codes';
import { ApiError } from '#platform/errors/errors';
import { clientKey, trackerKey } from '#platform/http/client-address';
import { contextOf } from './declarations';
import type { Count } from './memory-counter';
import { RateLimitStorage } from './rate-limit.storage';
import { type Limit, RouteLimits, numberOf } from './route-limits';
import { type Sparing, whoSpares } from './spared';

/** Texts that are part of the interface. Other limits have the text of `general`. */
const TEXTS: Record<string, string> = {
  general: 'Too many requests from this IP',
  auth: 'Too many login attempts',
};

const CODES: Record<string, ErrorCode | undefined> = {
  general: 'rate_limited_general',
  auth: 'rate_limited_auth',
};

/** How often in a window a spared caller passes: he may have to try again. */
const SPARED = 5;

interface Counted {
  limit: Limit;
  client: string;
  count: Count;
}

/**
 * Counts requests per client IP in fixed windows. Runs as a Fastify hook before the body is read, because a Nest
 * guard never sees unknown paths or bodies that fail to parse.
 */
@Injectable()
export class RateLimiter {
  constructor(
    private readonly storage: RateLimitStorage,
    private readonly limits: RouteLimits,
    private readonly modules: ModuleRef,
  ) {}

  /** Ends with an ApiError 429 when a limit is exceeded. Synchronous when the counters are. */
  readonly onRequest = (
    request: FastifyRequest,
    reply: FastifyReply,
    done: (error?: Error) => void,
  ): void => {
    const limits = this.limits.of(request);
    if (limits.length === 0) return done();
    const client = clientKey(request.ip ?? '');
    const counted = limits.map((limit) =>
      limit.perRequest ? this.ask(limit, client, request, reply) : this.count(limit, client),
    );
    if (counted.some((each) => each instanceof Promise))
      Promise.all(counted.map((each) => Promise.resolve(each))).then(
        (found) => this.decide(found, request, reply, done),
        done,
      );
    else this.decide(counted as Counted[], request, reply, done);
  };

  /** Refuses beyond a limit, unless the route spares its caller. */
  private decide(
    all: (Counted | undefined)[],
    request: FastifyRequest,
    reply: FastifyReply,
    done: (error?: Error) => void,
  ): void {
    const counted = all.filter((each) => each !== undefined);
    tell(counted, reply);
    const exceeded = counted.find((each) => left(each) < 0);
    if (!exceeded) return done();
    const { target, windowMs } = exceeded.limit;
    const provider = whoSpares(target);
    if (!provider) return done(refusal(exceeded, request, reply));
    const context = contextOf(target, [request, reply]);
    this.isSpared(this.modules.get(provider, { strict: false }), context, windowMs).then(
      (spared) => done(spared ? undefined : refusal(exceeded, request, reply)),
      done,
    );
  }

  private async isSpared(by: Sparing, context: ExecutionContext, windowMs: number): Promise<boolean> {
    const name = await by.nameOf(context);
    if (name === undefined) return false;
    const { hits } = await this.storage.count(trackerKey(name), `spared:${windowMs}`, SPARED, windowMs);
    return hits <= SPARED && by.mayPass(context);
  }

  private count(limit: Limit, client: string): Counted | Promise<Counted> {
    const count = this.storage.count(client, limit.bucket, limit.limit, limit.windowMs);
    if (!(count instanceof Promise)) return { limit, client, count };
    return count.then((found) => ({ limit, client, count: found }));
  }

  /** Calls the functions from options and decorators. Returns undefined when the request is not counted. */
  private async ask(
    limit: Limit,
    client: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Counted | undefined> {
    const { skipIf, ignoreUserAgents, getTracker, generateKey, limit: allowed } = limit.perRequest ?? {};
    const context = contextOf(limit.target, [request, reply]);
    const agent = request.headers['user-agent'] ?? '';
    if (skipIf?.(context) || ignoreUserAgents?.some((pattern) => agent.search(pattern) >= 0))
      return undefined;
    const tracker = getTracker && (await getTracker(request, context));
    const key = generateKey?.(context, tracker ?? client, limit.name);
    const own = key ?? tracker;
    const found = {
      ...limit,
      limit: allowed ? numberOf(await allowed(context), 0, `limit of ${limit.name}`) : limit.limit,
      bucket: key === undefined ? limit.bucket : `${limit.name}:key:${limit.windowMs}`,
    };
    return this.count(found, own === undefined ? client : trackerKey(own));
  }
}

/** Writes the tightest limit into the headers. */
function tell(counted: Counted[], reply: FastifyReply): void {
  const told = counted.filter(({ limit }) => limit.setHeaders);
  if (told.length === 0) return;
  const tightest = told.reduce((least, each) => (left(each) < left(least) ? each : least));
  void reply.header('X-RateLimit-Limit', tightest.count.limit);
  void reply.header('X-RateLimit-Remaining', Math.max(0, left(tightest)));
  void reply.header('X-RateLimit-Reset', tightest.count.secondsLeft);
}

function refusal(exceeded: Counted, request: FastifyRequest, reply: FastifyReply): ApiError {
  void reply.header('Retry-After', exceeded.count.secondsLeft);
  return new ApiError(429, textOf(exceeded, request, reply), { code: CODES[exceeded.limit.name] });
}

const left = ({ count }: Counted): number => count.limit - count.hits;

function textOf({ limit, client, count }: Counted, request: FastifyRequest, reply: FastifyReply): string {
  const { errorMessage, name, target, windowMs, bucket } = limit;
  if (typeof errorMessage !== 'function') return errorMessage ?? TEXTS[name] ?? TEXTS.general;
  return errorMessage(contextOf(target, [request, reply]), {
    key: bucket,
    tracker: client,
    limit: count.limit,
    ttl: windowMs,
    totalHits: count.hits,
    timeToExpire: count.secondsLeft,
    isBlocked: true,
    timeToBlockExpire: count.secondsLeft,
  });
}
