import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { createSiweMessage } from 'viem/siwe';
import { MAX_MESSAGE } from '#features/auth/auth.dto';
import { withClient } from '#dev/postgres';
import { announce, newPools } from './chain';
import { callers } from './database';
import type { FloodOrders, FloodReport } from './flood-process';
import type { NodeOrders } from './generated-node';
import { Helper } from './helper';
import { blockOf, startIndexer } from './indexer-process';
import type { ListenerOrders, ListenerReport } from './listener-process';
import { bearer } from './loads';
import { CONTRACT, POOL_CONTRACTS, SIWE_DOMAIN } from './peers';

/** Where it takes place. */
export interface Place {
  url: string;
  databaseUrl: string;
}

export interface Disturbance {
  name: string;
  /** Settings of the service. */
  env: NodeJS.ProcessEnv;
  /** @returns what begins it, as often as wished, which returns what ends it and says in figures what it did */
  prepare(place: Place): Promise<() => Promise<() => Promise<Record<string, number>>>>;
}

const ELSEWHERE = { elsewhere: true };

const LISTENERS = 2000;
const PUBLISH_MS = 1000;

const listeners: Disturbance = {
  name: `${LISTENERS.toLocaleString('en')} streams`,
  env: { EVENT_STREAMS_PER_USER: '1000', EVENT_STREAMS_PER_ADDRESS: '10000' },
  async prepare({ url, databaseUrl }) {
    const headers = (await callers(databaseUrl, 64, 64)).map(bearer);
    return async () => {
      const orders: ListenerOrders = { url, count: LISTENERS, headers };
      const [crowd] = await Helper.start<ListenerReport>('listener-process', orders, ELSEWHERE);
      const stop = publish(databaseUrl);
      return async () => {
        const published = await stop();
        return { published, ...(await crowd.end()) };
      };
    };
  },
};

/** Publishes an event that all may read, again and again. @returns what ends it, and tells how many it were */
function publish(url: string): () => Promise<number> {
  const stopping = new AbortController();
  const publishing = withClient(url, async (client) => {
    let count = 0;
    for (; !stopping.signal.aborted; count++) {
      await client.query(
        `INSERT INTO outbox (count, items) VALUES (1, '[{"topic": "draw.closed", "drawId": 1}]')`,
      );
      await sleep(PUBLISH_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    return count;
  });
  return () => {
    stopping.abort();
    return publishing;
  };
}

/** It ends by itself after this many requests. */
const FLOOD = { rate: 1000, amount: 10_000, connections: 500, addresses: 100 };

/** Messages as long as they may be, well-formed, so that each costs what a stranger can make it cost. */
function flood(name: string, env: NodeJS.ProcessEnv): Disturbance {
  const nonce = '0'.repeat(16);
  const message = (statement: string): string =>
    createSiweMessage({
      address: `0x${'a'.repeat(40)}`,
      chainId: 1,
      domain: SIWE_DOMAIN,
      nonce,
      uri: `https://${SIWE_DOMAIN}`,
      version: '1',
      statement,
    });
  const longest = message('x'.repeat(MAX_MESSAGE + 1 - message('x').length));
  const signature = `0x${'1'.repeat(128)}1b`;
  return {
    name,
    env,
    prepare:
      async ({ url }) =>
      async () => {
        const orders: FloodOrders = { url, message: longest, nonce, signature, ...FLOOD };
        const [helper] = await Helper.start<FloodReport>('flood-process', orders, ELSEWHERE);
        return () => helper.end();
      },
  };
}

/** More than it reads in a run. */
const HEAD = { block: 100_000, eventsPerBlock: 100 };

const indexer: Disturbance = {
  name: 'indexer',
  env: {},
  async prepare({ databaseUrl }) {
    const pools = newPools(Array.from({ length: 10 }, (_, i) => `0x${i}${'d'.repeat(39)}`));
    await withClient(databaseUrl, async (client) => {
      // The filled database has another chain.
      await client.query('DELETE FROM chain_cursor');
      await announce(client, CONTRACT, pools);
    });
    // Recent blocks, whose events are published one by one.
    const genesis = Math.floor(Date.now() / 1000) - HEAD.block;
    const orders: NodeOrders = [CONTRACT, pools, HEAD.eventsPerBlock, HEAD.block, genesis];
    const [, { url: RPC_URL }] = await Helper.start<{ url: string }>('generated-node', orders, ELSEWHERE);
    const block = (): Promise<number> =>
      withClient(databaseUrl, async (client) => (await blockOf(client)) ?? 0);
    return async () => {
      const before = await block();
      const process = await startIndexer(databaseUrl, {
        RPC_URL,
        POOL_CONTRACTS,
        // The deposits of the filled database stay pending.
        PENDING_DEPOSIT_TTL: '1000000000',
      });
      while ((await block()) <= before) await sleep(20);
      const [begun, first] = [performance.now(), await block()];
      return async () => {
        const last = await block();
        const seconds = (performance.now() - begun) / 1000;
        await process.stop();
        await withClient(databaseUrl, handedOn);
        if (last >= HEAD.block) throw new Error('the indexer has reached the end of its chain');
        return { eventsPerSecond: Math.round(((last - first) * HEAD.eventsPerBlock) / seconds) };
      };
    };
  },
};

/** Waits until the service has handed on the events that the indexer wrote, which is part of the disturbance. */
async function handedOn(client: Client): Promise<void> {
  for (let tries = 0; tries < 150; tries++, await sleep(100)) {
    const { rowCount } = await client.query(
      `SELECT FROM outbox_consumers c WHERE EXISTS (
         SELECT FROM outbox o WHERE (o.xid, o.position, o.count) > (c.xid, c.position, c.item))`,
    );
    if (!rowCount) return;
  }
  throw new Error('the service does not hand the events on');
}

export const DISTURBANCES: Disturbance[] = [
  listeners,
  // The default limits.
  flood('flood, refused', { RATE_LIMIT_GENERAL: '', RATE_LIMIT_AUTH: '' }),
  flood('flood, let in', {}),
  indexer,
];
