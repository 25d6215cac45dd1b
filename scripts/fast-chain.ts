/**
 * A chain with a block every 250 ms, behind an endpoint that answers after 150 ms, for CHAIN_MINUTES (30): the indexer's
 * lag must not grow, and what it does beside reading must go on. `npm run soak:chain` builds first. Prints a line every
 * half minute, and ends with status 1 when something grew or stood still.
 */
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '#dev/ports';
import { startPostgres } from '#dev/postgres';
import { ChainBench } from '../test/support/chain/chain-bench';

const MINUTES = Number(process.env.CHAIN_MINUTES ?? 30);
const BLOCK_MS = 250;
const ANSWER_MS = 150;
const PAY_EVERY = 8;
const SAMPLE_EVERY_MS = 5000;
const PRINT_EVERY = 6;

interface Sample {
  /** Blocks between the chain's head and the ledger's. */
  lag: number;
  memory: number;
  /** What is done beside reading, each as a number that has to rise: receipts found, and when each part of verification had last come to its end, in seconds. */
  receipts: number;
  verified: number;
}

async function main(): Promise<boolean> {
  const postgres = await startPostgres({ dir: tmpdir(), database: 'fast', ephemeral: true });
  process.env.TEST_DATABASE_URL = postgres.url;
  const bench = new ChainBench();
  const slow = createServer((request, response) => void pass(bench, request, response));
  try {
    await bench.start();
    await once(slow.listen(0, '127.0.0.1'), 'listening');
    const port = await freePort();
    bench.indexer({
      RPC_URL: `http://127.0.0.1:${(slow.address() as AddressInfo).port}`,
      INDEXER_PORT: `${port}`,
      VERIFY_INTERVAL: '5',
    });
    return await follow(bench, `http://127.0.0.1:${port}/metrics`);
  } finally {
    slow.close();
    slow.closeAllConnections();
    await bench.stop();
    await postgres.stop();
  }
}

async function pass(bench: ChainBench, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    await wait(ANSWER_MS);
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(bench.anvil.url, { method: 'POST', headers, body: Buffer.concat(chunks) });
    response.writeHead(answer.status, headers).end(Buffer.from(await answer.arrayBuffer()));
  } catch {
    response.destroy();
  }
}

async function follow(bench: ChainBench, metrics: string): Promise<boolean> {
  const samples: Sample[] = [];
  const begun = Date.now();
  const end = begun + MINUTES * 60_000;
  const mining = (async () => {
    for (let block = 1; Date.now() < end; block++) {
      if (block % PAY_EVERY === 0) await bench.deposit(bench.pools[block % bench.pools.length], 1n);
      else await bench.mine(1);
      await wait(Math.max(0, begun + block * BLOCK_MS - Date.now()));
    }
  })();
  while (Date.now() < end) {
    await wait(SAMPLE_EVERY_MS);
    const sample = await measure(bench, metrics);
    if (sample) samples.push(sample);
    if (sample && samples.length % PRINT_EVERY === 0)
      console.log(
        `${Math.round((Date.now() - begun) / 1000)} s: ${Object.entries(sample)
          .map(([name, value]) => `${name} ${value}`)
          .join(', ')}`,
      );
  }
  await mining;
  return judge(samples);
}

/** @returns undefined while the indexer starts */
async function measure(bench: ChainBench, metrics: string): Promise<Sample | undefined> {
  const cursor = await bench.cursor();
  const text = await fetch(metrics).then(
    (answer) => answer.text(),
    () => '',
  );
  if (!cursor || text === '') return undefined;
  const head = Number(await bench.owner.getBlockNumber({ cacheTime: 0 }));
  const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
  const [{ receipts, verified }] = await bench.sql<Record<'receipts' | 'verified', number>>(
    `SELECT (SELECT count(*) FROM transactions WHERE gas_used IS NOT NULL)::int AS receipts,
       (SELECT coalesce(extract(epoch FROM min(covered_at)), 0) FROM verify_walks)::int AS verified`,
  );
  const memory = Math.round(value('process_resident_memory_bytes') / 2 ** 20);
  return { lag: head - cursor.number, memory, receipts, verified };
}

function judge(samples: Sample[]): boolean {
  const third = Math.ceil(samples.length / 3);
  const [middle, last] = [samples.slice(third, 2 * third), samples.slice(-third)];
  const most = (part: Sample[], name: keyof Sample): number =>
    Math.max(...part.map((sample) => sample[name]));
  const median = (part: Sample[]): number =>
    part.map(({ lag }) => lag).sort((a, b) => a - b)[part.length >> 1];
  const lags = [median(middle), median(last)];
  console.log(
    `lag in blocks, middle third and last: median ${lags.join(' and ')}, most ${most(middle, 'lag')} and ${most(last, 'lag')}; ` +
      `memory at most ${most(samples, 'memory')} MiB; receipts ${most(middle, 'receipts')} and ${most(last, 'receipts')}`,
  );
  const isFlat = lags[1] <= lags[0] + 4;
  const goesOn = (['receipts', 'verified'] as const).every((name) => most(last, name) > most(middle, name));
  return isFlat && goesOn;
}

main().then(
  (flat) => process.exit(flat ? 0 : 1),
  (error: Error) => {
    console.error(error.message);
    process.exit(1);
  },
);
