import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { withClient } from '#dev/postgres';

const ENTRY = path.resolve(__dirname, '..', 'dist', 'src', 'indexer.js');
/** Interval between reads of the cursor. */
const LOOK_MS = 20;

/** Of the process of the indexer. */
export interface Usage {
  /** In MiB. */
  rss: number;
  heap: number;
  /** µs of CPU since its start. */
  cpu: number;
}

/** Starts the indexer as production does. @returns its port, and what ends it */
export async function startIndexer(
  url: string,
  settings: NodeJS.ProcessEnv,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const child = fork(ENTRY, {
    execArgv: process.env.BENCH_INDEXER_FLAGS?.split(' ') ?? [],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: url,
      INDEXER_PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'warn',
      ...settings,
    },
  });
  const ended = once(child, 'exit').then(() => {
    throw new Error('the indexer has ended');
  });
  ended.catch(() => undefined);
  const message = once(child, 'message') as Promise<[{ port: number }]>;
  const [{ port }] = await Promise.race([message, ended]);
  return { port, stop: () => end(child) };
}

/**
 * Runs the indexer until it reaches block `head`.
 * @param seen is called repeatedly with the cursor's block and what the process uses
 * @returns seconds since it found its chain
 */
export async function follow(
  url: string,
  settings: NodeJS.ProcessEnv,
  head: number,
  seen: (block: number, usage: () => Promise<Usage>) => unknown = () => undefined,
): Promise<number> {
  const { port, stop } = await startIndexer(url, settings);
  try {
    return await withClient(url, async (client) => {
      for (let begun: number | undefined; ; await sleep(LOOK_MS)) {
        const block = await blockOf(client);
        if (block === undefined) continue;
        begun ??= performance.now();
        await seen(block, () => usageOf(port));
        if (block >= head) return (performance.now() - begun) / 1000;
      }
    });
  } finally {
    await stop();
  }
}

/** The block that the indexer has reached, once it has found its chain. */
export async function blockOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ block: number }>(
    'SELECT block_number::int AS block FROM chain_cursor',
  );
  return rows[0]?.block;
}

async function usageOf(port: number): Promise<Usage> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return {
    rss: value('process_resident_memory_bytes') / 2 ** 20,
    heap: value('nodejs_heap_size_used_bytes') / 2 ** 20,
    cpu: value('process_cpu_seconds_total') * 1_000_000,
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
