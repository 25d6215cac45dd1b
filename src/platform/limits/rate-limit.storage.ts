import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import Redis, { Cluster, type Result } from 'ioredis';
import { once } from 'node:events';
import { OutageLog } from '#platform/log/outage-log';
import { Loop } from '#platform/timing/loop';
import { within } from '#platform/timing/waits';
import { LimitsSettings } from './limits.settings';
import { type Count, MemoryCounter } from './memory-counter';

declare module 'ioredis' {
  interface RedisCommander<Context> {
    /** Defined below by a script. Returns the requests of the window, and the ms until it ends. */
    countHit(key: string, windowMs: number): Result<[number, number], Context>;
  }
}

/** Longest wait for Redis before a request is counted here instead. */
const PATIENCE_MS = 400;
/** From one check of Redis to the next. After a request without an answer none is sent before a check succeeds. */
const CHECK_MS = 1000;
/** A connection that does not answer a check for so long is given up, as a firewall may have forgotten it. */
const SILENT_MS = 2000;

const answerOf = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
  within(PATIENCE_MS, answer, () => new Error(`no answer in ${PATIENCE_MS} ms`));

/**
 * Keeps the counts of the rate limits: in Redis for all replicas, or in this process when REDIS_URL is not set or
 * Redis does not answer. The service keeps running without Redis; limits then hold per process.
 */
@Injectable()
export class RateLimitStorage implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(RateLimitStorage.name);
  private readonly outage = new OutageLog(
    this.logger,
    'Redis does not answer, rate limits hold per process',
    'Redis answers again, rate limits hold over all replicas',
  );
  private readonly memory = new MemoryCounter();
  private readonly client?: Redis | Cluster;
  private readonly checks = new Loop(
    () => this.check(),
    () => CHECK_MS,
  );
  private answers = false;

  constructor({ REDIS_URL }: LimitsSettings) {
    if (REDIS_URL) {
      this.client = connectRedis(REDIS_URL);
      this.client.on('error', () => undefined);
      this.client.defineCommand('countHit', { numberOfKeys: 1, lua: COUNT });
    } else {
      this.logger.log('REDIS_URL is not set: rate limits hold per process');
    }
  }

  get status(): 'connected' | 'disconnected' | 'disabled' {
    if (!this.client) return 'disabled';
    return this.answers ? 'connected' : 'disconnected';
  }

  /** Makes a new replica count in Redis from its first request on, unless Redis is down. */
  async onModuleInit(): Promise<void> {
    const { client } = this;
    if (!client) return;
    if (client.status !== 'ready') await answerOf(once(client, 'ready')).catch(() => undefined);
    await within(PATIENCE_MS, this.check());
    this.checks.start();
  }

  /**
   * Counts a request.
   * @param client the client's key, from `clientKey` or `trackerKey`
   * @param name of what is counted together, always with the same window
   */
  async count(client: string, name: string, limit: number, windowMs: number): Promise<Count> {
    if (this.client && this.answers)
      try {
        // The form that replicas of earlier versions use, so that their counts and these add up.
        const key = `{${client}:${name}}:hits`;
        const [hits, left] = await answerOf(this.client.countHit(key, windowMs));
        return { hits, limit, secondsLeft: Math.ceil(left / 1000) };
      } catch (error) {
        this.lost(error as Error);
      }
    return this.memory.count(client, name, limit, windowMs);
  }

  async onApplicationShutdown(): Promise<void> {
    const stopped = this.checks.stop();
    this.client?.disconnect();
    await stopped;
  }

  /** No request waits for this, so it waits for the answer as long as its connection lasts. */
  private async check(): Promise<void> {
    // Not by ioredis' socketTimeout, whose timer outlives a connection that was lost, and ends the next one.
    const silent = setTimeout(() => this.client!.disconnect(true), SILENT_MS).unref();
    try {
      await this.client!.ping();
      this.answers = true;
      this.outage.succeeded();
    } catch (error) {
      if (!this.checks.signal.aborted) this.lost(error as Error);
    } finally {
      clearTimeout(silent);
    }
  }

  private lost(error: Error): void {
    this.answers = false;
    this.outage.failed(error);
  }
}

const OPTIONS = {
  connectTimeout: 1000,
  // Without a connection a command fails at once, and none is sent twice: losing counts is acceptable.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (attempt: number): number => Math.min(attempt * 100, 1000),
};

/**
 * Connects to a single server (`redis://`, `rediss://`), through Sentinel
 * (`redis+sentinel://host:port,host:port/master`) or to a Cluster (`redis+cluster://host:port,host:port`).
 */
function connectRedis(address: string): Redis | Cluster {
  const match = /^(rediss?)\+(sentinel|cluster):\/\/(?:([^@/]*)@)?([^/]+)(?:\/(.*))?$/.exec(address);
  if (!match) return new Redis(address, OPTIONS);
  const [, scheme, kind, credentials, hosts = '', master] = match;
  const nodes = hosts.split(',').map((node) => {
    const [host = '', port] = node.split(':');
    return { host, port: Number(port ?? (kind === 'sentinel' ? 26379 : 6379)) };
  });
  const [username, password] = credentials?.split(':').map(decodeURIComponent) ?? [];
  const connection = {
    ...(username && { username }),
    ...(password && { password }),
    ...(scheme === 'rediss' && { tls: {} }),
  };
  if (kind === 'cluster')
    return new Cluster(nodes, {
      clusterRetryStrategy: OPTIONS.retryStrategy,
      enableOfflineQueue: false,
      redisOptions: { connectTimeout: OPTIONS.connectTimeout, maxRetriesPerRequest: 0, ...connection },
    });
  return new Redis({
    ...OPTIONS,
    ...connection,
    sentinels: nodes,
    name: master ?? 'mymaster',
    ...(scheme === 'rediss' && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  });
}

/**
 * Counts a request in the fixed window of its key, and begins the window with the first. A key without an end, as
 * somebody else may have left it, gets one. One key for each call, so that a Cluster knows which node to ask.
 */
const COUNT = `
local hits = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  left = tonumber(ARGV[1])
end
return { hits, left }`;
