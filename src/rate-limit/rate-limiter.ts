import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientKey } from '../common/client-address';
import { ApiError } from '../common/errors';
import { Environment } from '../config/environment';
import type { Count } from './memory-counter';
import { RateLimitStorage } from './rate-limit.storage';

interface Limit {
  name: string;
  limit: number;
  message: string;
}

/** Probes, scrapes and what the documentation page loads are not limited. */
export const EXEMPT = /^\/(health|metrics|docs\/assets)(\/|$)/;
export const AUTH = /^\/+auth(\/|$)/i;

/**
 * Counts requests per client IP in fixed windows. Runs as a Fastify hook before routing results matter and before
 * the body is read: a Nest guard would never see unknown paths and bodies that fail to parse.
 */
@Injectable()
export class RateLimiter {
  private readonly general: Limit;
  private readonly auth: Limit;
  private readonly windowMs: number;

  constructor(
    private readonly storage: RateLimitStorage,
    environment: Environment,
  ) {
    this.windowMs = environment.RATE_LIMIT_WINDOW * 1000;
    this.general = {
      name: 'general',
      limit: environment.RATE_LIMIT_GENERAL,
      message: 'Too many requests from this IP',
    };
    this.auth = { name: 'auth', limit: environment.RATE_LIMIT_AUTH, message: 'Too many login attempts' };
  }

  /** Ends with an ApiError 429 when a limit is exceeded. Synchronous while the counters are. */
  readonly onRequest = (
    request: FastifyRequest,
    reply: FastifyReply,
    done: (error?: Error) => void,
  ): void => {
    // The matched route, as the raw path may be percent-encoded; unknown paths have none.
    const route = request.routeOptions.url;
    if (route !== undefined && EXEMPT.test(route)) return done();
    const path = route ?? request.url;
    const client = clientKey(request.ip ?? '');
    const limits = AUTH.test(path) ? [this.general, this.auth] : [this.general];
    const counts = limits.map(({ name, limit }) => this.storage.count(client, name, limit, this.windowMs));
    if (counts.some((count) => count instanceof Promise))
      Promise.all(counts.map((count) => Promise.resolve(count))).then(
        (found) => done(decide(limits, found, reply)),
        done,
      );
    else done(decide(limits, counts as Count[], reply));
  };
}

/** Tells about the tighter limit in the headers; the error for the first one that is exceeded, if any. */
function decide(limits: Limit[], counts: Count[], reply: FastifyReply): ApiError | undefined {
  const left = counts.map(({ limit, hits }) => limit - hits);
  const tight = left.length > 1 && left[1] < left[0] ? 1 : 0;
  void reply.header('X-RateLimit-Limit', counts[tight].limit);
  void reply.header('X-RateLimit-Remaining', Math.max(0, left[tight]));
  void reply.header('X-RateLimit-Reset', counts[tight].secondsLeft);
  const exceeded = left.findIndex((count) => count < 0);
  if (exceeded < 0) return undefined;
  void reply.header('Retry-After', counts[exceeded].secondsLeft);
  return new ApiError(429, limits[exceeded].message);
}
