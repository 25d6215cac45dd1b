import { Injectable, Logger, OnApplicationShutdown } from '@nestjs/common';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { Cluster, Redis } from 'ioredis';
import { Environment } from '../config/environment';
import { connectRedis } from './redis';

export type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** What the limiter counts in: ThrottlerStorage, but that an answer that is known at once may come at once. */
export interface RateLimitStore {
  increment(...parameters: Parameters<ThrottlerStorage['increment']>): StorageRecord | Promise<StorageRecord>;
}

/** Counts in this process: fixed windows, one record a key. */
export class MemoryStorage implements RateLimitStore {
  private readonly windows = new Map<string, { hits: number; ends: number }>();
  private sweepAt = 10_000;

  /** @param ttl length of the window in ms; times in the record are in seconds */
  increment(key: string, ttl: number, limit: number, _block: number, name: string): StorageRecord {
    const now = Date.now();
    const id = `${name} ${key}`;
    let window = this.windows.get(id);
    if (!window || window.ends <= now) {
      this.sweep(now);
      window = { hits: 0, ends: now + ttl };
      this.windows.set(id, window);
    }
    window.hits += 1;
    const timeToExpire = Math.ceil((window.ends - now) / 1000);
    const isBlocked = window.hits > limit;
    return {
      totalHits: window.hits,
      timeToExpire,
      isBlocked,
      timeToBlockExpire: isBlocked ? timeToExpire : 0,
    };
  }

  /** Forgets ended windows whenever the number of records has doubled, so the cost per request is constant. */
  private sweep(now: number): void {
    if (this.windows.size < this.sweepAt) return;
    for (const [id, window] of this.windows) if (window.ends <= now) this.windows.delete(id);
    this.sweepAt = Math.max(10_000, this.windows.size * 2);
  }
}

/** No block beyond the window: what counts is the number of hits in it. */
const NEVER_BLOCK = Number.MAX_SAFE_INTEGER;
/** Longest wait for Redis in ms before a request is counted here instead. */
const PATIENCE = 250;
/** Once Redis failed, requests are counted here for this long, in ms, before it is asked again. */
const PAUSE = 1000;

/**
 * Where the rate limits count: over all replicas in Redis, or in this process when REDIS_URL is not set or Redis
 * does not answer. Redis going away takes nothing down; limits hold per process meanwhile.
 */
@Injectable()
export class RateLimitStorage implements RateLimitStore, OnApplicationShutdown {
  private readonly logger = new Logger(RateLimitStorage.name);
  private readonly memory = new MemoryStorage();
  private readonly client?: Redis | Cluster;
  private readonly shared?: ThrottlerStorage;
  private failedUntil = 0;

  constructor({ REDIS_URL }: Environment) {
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
    return this.client.status === 'ready' && Date.now() >= this.failedUntil ? 'connected' : 'disconnected';
  }

  increment(
    ...parameters: Parameters<ThrottlerStorage['increment']>
  ): StorageRecord | Promise<StorageRecord> {
    if (!this.shared || this.status !== 'connected') return this.memory.increment(...parameters);
    const [key, ttl, , , name] = parameters;
    return within(PATIENCE, this.shared.increment(key, ttl, NEVER_BLOCK, ttl, name)).catch((error: Error) => {
      this.failedUntil = Date.now() + PAUSE;
      this.logger.warn(`Redis does not answer, rate limits hold per process: ${error.message}`);
      return this.memory.increment(...parameters);
    });
  }

  onApplicationShutdown(): void {
    this.client?.disconnect();
  }
}

function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
