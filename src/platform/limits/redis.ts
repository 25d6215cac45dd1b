import Redis, { Cluster } from 'ioredis';

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
