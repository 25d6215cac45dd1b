import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isIPv6 } from 'node:net';
import { Environment } from '../config/environment';
import { ApiError } from './errors';
import { RateLimitStorage } from './rate-limit.storage';

interface Limit {
  name: string;
  limit: number;
  message: string;
}

/** Probes, scrapes and the documentation are not limited. */
const EXEMPT = /^\/(health|metrics|docs)(\/|$)/;
const AUTH = /^\/+auth(\/|$)/i;

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

  /** @throws ApiError 429 */
  readonly onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // The matched route, as the raw path may be percent-encoded; unknown paths have none.
    const path = request.routeOptions.url ?? request.url;
    if (EXEMPT.test(path)) return;
    const client = clientKey(request.ip);
    const general = this.count(client, this.general, reply);
    if (AUTH.test(path)) {
      await Promise.all([general, this.count(client, this.auth, reply)]);
    } else {
      await general;
    }
  };

  private async count(client: string, { name, limit, message }: Limit, reply: FastifyReply): Promise<void> {
    const { totalHits, timeToExpire } = await this.storage.increment(client, this.windowMs, limit, 0, name);
    const remaining = Math.max(0, limit - totalHits);
    // With two limits the headers tell about the tighter one.
    const told = reply.getHeader('X-RateLimit-Remaining');
    if (told === undefined || remaining < Number(told)) {
      void reply.header('X-RateLimit-Limit', limit);
      void reply.header('X-RateLimit-Remaining', remaining);
      void reply.header('X-RateLimit-Reset', timeToExpire);
    }
    if (totalHits > limit) {
      void reply.header('Retry-After', timeToExpire);
      throw new ApiError(429, message);
    }
  }
}

/** IPv4 addresses as they are; of IPv6 the /64 network, since a client has all the addresses in it. */
function clientKey(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip);
  if (mapped?.[1]) return mapped[1];
  if (!isIPv6(ip)) return ip;
  const [head = '', tail = ''] = ip.split('::');
  const groups = head.split(':').filter(Boolean);
  const missing = 8 - groups.length - tail.split(':').filter(Boolean).length;
  const full = ip.includes('::')
    ? [...groups, ...Array<string>(missing).fill('0'), ...tail.split(':')]
    : groups;
  return full
    .slice(0, 4)
    .map((group) => parseInt(group || '0', 16).toString(16))
    .join(':');
}
