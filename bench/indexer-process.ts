import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { using } from './database';

const ENTRY = path.resolve(__dirname, '..', 'dist', 'src', 'indexer.js');
/** Interval between reads of the cursor. */
const LOOK_MS = 20;

/** In MiB. */
export interface Memory {
  rss: number;
  heap: number;
}

/**
 * Runs the indexer as production does, until it reaches block `head`.
 * @param seen is called repeatedly with the cursor's block and the memory of the process
 * @returns seconds since it found its chain
 */
export async function follow(
  url: string,
  settings: NodeJS.ProcessEnv,
  head: number,
  seen: (block: number, memory: () => Promise<Memory>) => unknown = () => undefined,
): Promise<number> {
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
  try {
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return await using(url, async (client) => {
      for (let begun: number | undefined; ; await sleep(LOOK_MS)) {
        const { rows } = await client.query<{ block: number }>(
          'SELECT block_number::int AS block FROM chain_cursor',
        );
        if (!rows[0]) continue;
        begun ??= performance.now();
        await seen(rows[0].block, () => memoryOf(port));
        if (rows[0].block >= head) return (performance.now() - begun) / 1000;
      }
    });
  } finally {
    await end(child);
  }
}

async function memoryOf(port: number): Promise<Memory> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const value = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]) / 2 ** 20;
  return { rss: value('process_resident_memory_bytes'), heap: value('nodejs_heap_size_used_bytes') };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
