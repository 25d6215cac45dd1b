import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namedError } from '#platform/errors/errors';
import { clientKey, trackerKey } from '#platform/http/client-address';
import type { Count } from './memory-counter';
import { RateLimitStorage } from './rate-limit.storage';
import { type Limit, RouteLimits, contextOf, numberOf, whoSpares } from './route-limits';

/** How often in a window a spared caller passes: he may have to try again. */
const SPARED = 5;

interface Counted extends Count {
  of: Limit;
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

  /** @throws ApiError 429 beyond a limit, unless the route spares its caller */
  readonly onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const limits = this.limits.of(request);
    if (limits.length === 0) return;
    const counted = await Promise.all(limits.map((limit) => this.count(limit, request, reply)));
    const tightest = counted.reduce((least, each) => (left(each) < left(least) ? each : least));
    void reply.header('X-RateLimit-Limit', tightest.limit);
    void reply.header('X-RateLimit-Remaining', Math.max(0, left(tightest)));
    void reply.header('X-RateLimit-Reset', tightest.secondsLeft);
    const exceeded = counted.find((each) => left(each) < 0);
    if (!exceeded || (await this.isSpared(exceeded.of, request, reply))) return;
    void reply.header('Retry-After', exceeded.secondsLeft);
    throw namedError(`rate_limited_${exceeded.of.name}`);
  };

  private async count(of: Limit, request: FastifyRequest, reply: FastifyReply): Promise<Counted> {
    const { name, limit, windowMs } = of;
    const context = contextOf(of.target, [request, reply]);
    const client = clientKey(request.ip ?? '');
    const tracker = of.getTracker && (await of.getTracker(request, context));
    const key = of.generateKey?.(context, tracker ?? client, name);
    const own = key ?? tracker;
    const count = await this.storage.count(
      own === undefined ? client : trackerKey(own),
      key === undefined ? of.bucket : `${name}:key:${windowMs}`,
      typeof limit === 'function' ? numberOf(await limit(context), 0, `limit of ${name}`) : limit,
      windowMs,
    );
    return { of, ...count };
  }

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
}

const left = ({ limit, hits }: Count): number => limit - hits;
