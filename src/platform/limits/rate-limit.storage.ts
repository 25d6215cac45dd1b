import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { ThrottlerStorageRecord } from '@nestjs/throttler/dist/throttler-storage-record.interface';
import type { Cluster, Redis } from 'ioredis';
import { once } from 'node:events';
import { trackerKey } from '#platform/http/client-address';
import { LimitsSettings } from './limits.settings';
import { type Count, MemoryCounter } from './memory-counter';
import { connectRedis } from './redis';

/** No block that outlasts the window: only the number of hits in it counts. */
const NEVER_BLOCK = Number.MAX_SAFE_INTEGER;
/** Longest wait for Redis in ms before a request is counted here instead. */
const PATIENCE = 400;
/** Time between two checks of Redis, in ms. */
const INTERVAL = 250;
/** How long Redis is not asked after a request without an answer, in ms: a part of a cluster may be down. */
const PAUSE = 1000;

/**
 * Keeps the counts of the rate limits: in Redis for all replicas, or in this process when REDIS_URL is not set or
 * Redis does not answer. The service keeps running without Redis; limits then hold per process.
 */
@Injectable()
export class RateLimitStorage implements ThrottlerStorage, OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(RateLimitStorage.name);
  private readonly memory = new MemoryCounter();
  private readonly client?: Redis | Cluster;
  private readonly shared?: ThrottlerStorage;
  private timer?: NodeJS.Timeout;
  private looking = false;
  private answers?: boolean;
  private failedUntil = 0;

  constructor({ REDIS_URL }: LimitsSettings) {
    if (REDIS_URL) {
      this.client = connectRedis(REDIS_URL);
      this.client.on('error', () => undefined);
      this.shared = new ThrottlerStorageRedisService(this.client as Redis);
    } else {
      this.logger.log('REDIS_URL is not set: rate limits hold per process');
    }
  }

  get status(): 'connected' | 'disconnected' | 'disabled' {
    if (!this.client) return 'disabled';
    return this.answers && Date.now() >= this.failedUntil ? 'connected' : 'disconnected';
  }

  /** Makes a new replica count in Redis from its first request on, unless Redis is down. */
  async onModuleInit(): Promise<void> {
    const { client } = this;
    if (!client) return;
    if (client.status !== 'ready')
      await within(PATIENCE, once(client, 'ready')).catch((error: Error) => this.lost(error));
    await within(PATIENCE, this.look(client)).catch((error: Error) => this.lost(error));
    this.timer = setInterval(() => void this.look(client), INTERVAL).unref();
  }

  /**
   * Counts a request. Returns synchronously when the answer is already known.
   * @param client the client's key, from `clientKey` or `trackerKey`
   * @param name of what is counted together, always with the same window
   */
  count(client: string, name: string, limit: number, windowMs: number): Count | Promise<Count> {
    if (!this.shared || this.status !== 'connected') return this.memory.count(client, name, limit, windowMs);
    return within(PATIENCE, this.shared.increment(client, windowMs, NEVER_BLOCK, windowMs, name)).then(
      ({ totalHits, timeToExpire }) => ({ hits: totalHits, limit, secondsLeft: timeToExpire }),
      (error: Error) => {
        this.failedUntil = Date.now() + PAUSE;
        this.lost(error);
        return this.memory.count(client, name, limit, windowMs);
      },
    );
  }

  /** For a ThrottlerGuard in a module. Its counts are separate from the limits of the routes. */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    _blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord> {
    const count = await this.count(trackerKey(key), `${throttlerName}:guard:${ttl}`, limit, ttl);
    const { hits: totalHits, secondsLeft: timeToExpire } = count;
    const isBlocked = totalHits > count.limit;
    return { totalHits, timeToExpire, isBlocked, timeToBlockExpire: isBlocked ? timeToExpire : 0 };
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.answers = false; // on purpose, so there is nothing to warn about
    this.client?.disconnect();
  }

  /** Checks Redis without making a request wait. Waits for the answer to the ping, however long it takes. */
  private async look(client: Redis | Cluster): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    const pong = client.ping();
    await within(PATIENCE, pong).catch((error: Error) => this.lost(error));
    try {
      await pong;
      if (this.answers === false) this.logger.log('Redis answers again, rate limits hold over all replicas');
      this.answers = true;
    } catch (error) {
      this.lost(error as Error);
    }
    this.looking = false;
  }

  private lost({ message }: Error): void {
    if (this.answers !== false)
      this.logger.warn(`Redis does not answer, rate limits hold per process: ${message}`);
    this.answers = false;
  }
}

/**
 * Rejects when there is no answer within `ms`. The wait is split, so that a busy event loop is not mistaken for a
 * silent Redis.
 */
function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const steps = 5;
  let timer: NodeJS.Timeout;
  const timeout = new Promise<never>((_, reject) => {
    const step = (left: number): void => {
      if (left === 0) reject(new Error(`no answer in ${ms} ms`));
      else timer = setTimeout(step, ms / steps, left - 1);
    };
    step(steps);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
