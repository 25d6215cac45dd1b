import type { Cluster, Redis } from 'ioredis';
import { createHash } from 'node:crypto';

/**
 * Counts a request in the window of its key, and begins the window with the first. A key without an end, as somebody
 * else may have left it, gets one.
 */
const COUNT = `
local hits = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  left = tonumber(ARGV[1])
end
return { hits, left }`;
const NAME = createHash('sha1').update(COUNT).digest('hex');

/** Counts for all replicas: fixed windows. One key for each call, so that a Cluster knows which node to ask. */
export class RedisCounter {
  constructor(private readonly client: Redis | Cluster) {}

  /** @returns the requests of this window, and the seconds until it ends */
  async count(
    client: string,
    name: string,
    windowMs: number,
  ): Promise<{ hits: number; secondsLeft: number }> {
    // The form that replicas of earlier versions use, so that their counts and these add up.
    const key = `{${client}:${name}}:hits`;
    const [hits, left] = (await this.client.evalsha(NAME, 1, key, windowMs).catch((error: Error) => {
      // A new server, or one that was restarted, has not seen the script.
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      return this.client.eval(COUNT, 1, key, windowMs);
    })) as [number, number];
    return { hits, secondsLeft: Math.ceil(left / 1000) };
  }
}
