import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isIPv6 } from 'node:net';
import { Environment } from '../config/environment';
import { ApiError } from './errors';
import { RateLimitStorage, type StorageRecord } from './rate-limit.storage';

interface Limit {
  name: string;
  limit: number;
  message: string;
}

/** Probes, scrapes and the documentation are not limited. */
export const EXEMPT = /^\/(health|metrics|docs)(\/|$)/;
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
    const client = clientKey(request.ip);
    const limits = AUTH.test(path) ? [this.general, this.auth] : [this.general];
    const records = limits.map(({ name, limit }) =>
      this.storage.increment(client, this.windowMs, limit, 0, name),
    );
    if (records.some((record) => record instanceof Promise))
      Promise.all(records.map((record) => Promise.resolve(record))).then(
        (found) => done(decide(limits, found, reply)),
        done,
      );
    else done(decide(limits, records as StorageRecord[], reply));
  };
}

/** Tells about the tighter limit in the headers; the error for the first one that is exceeded, if any. */
function decide(limits: Limit[], records: StorageRecord[], reply: FastifyReply): ApiError | undefined {
  const left = limits.map(({ limit }, i) => limit - records[i].totalHits);
  const tight = left.length > 1 && left[1] < left[0] ? 1 : 0;
  const { timeToExpire } = records[tight];
  void reply.header('X-RateLimit-Limit', limits[tight].limit);
  void reply.header('X-RateLimit-Remaining', Math.max(0, left[tight]));
  void reply.header('X-RateLimit-Reset', timeToExpire);
  const exceeded = left.findIndex((count) => count < 0);
  if (exceeded < 0) return undefined;
  void reply.header('Retry-After', records[exceeded].timeToExpire);
  return new ApiError(429, limits[exceeded].message);
}

/** IPv4 addresses as they are; of IPv6 the /64 network, since a client has all the addresses in it. */
export function clientKey(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const groups = groupsOf(ip);
  // ::ffff:0:0/96 (RFC 4291 section 2.5.5.2): IPv4 clients of a socket for both, each a client of its own.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return [groups[6] >> 8, groups[6] & 255, groups[7] >> 8, groups[7] & 255].join('.');
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(ip: string): number[] {
  const parse = (text: string): number[] =>
    text.split(':').flatMap((part) => {
      if (!part.includes('.')) return part === '' ? [] : [parseInt(part, 16)];
      const bytes = part.split('.').map(Number);
      return [bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]];
    });
  const [head = '', tail = ''] = ip.split('::');
  const [before, after] = [parse(head), parse(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}
