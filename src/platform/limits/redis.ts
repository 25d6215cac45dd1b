import Redis, { Cluster } from 'ioredis';
import { createHash } from 'node:crypto';

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
export function connectRedis(address: string): Redis | Cluster {
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
const COUNT_SHA = createHash('sha1').update(COUNT).digest('hex');

/**
 * Counts for all replicas: fixed windows. One key for each call, so that a Cluster knows which node to ask.
 * @returns the requests of this window, and the seconds until it ends
 */
export async function countIn(
  redis: Redis | Cluster,
  client: string,
  name: string,
  windowMs: number,
): Promise<{ hits: number; secondsLeft: number }> {
  // The form that replicas of earlier versions use, so that their counts and these add up.
  const key = `{${client}:${name}}:hits`;
  const [hits, left] = (await redis.evalsha(COUNT_SHA, 1, key, windowMs).catch((error: Error) => {
    // A new server, or one that was restarted, has not seen the script.
    if (!error.message.startsWith('NOSCRIPT')) throw error;
    return redis.eval(COUNT, 1, key, windowMs);
  })) as [number, number];
  return { hits, secondsLeft: Math.ceil(left / 1000) };
}
