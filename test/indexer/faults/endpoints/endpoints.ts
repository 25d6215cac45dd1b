import { startAnvil } from '#dev/anvil';
import { connect, devAccount } from '#dev/deploy';
import { freePort } from '#dev/postgres-host';
import { type ChainBench, type IndexerProcess, eventually } from '../../../support/chain/chain-bench';

/** Waits until its log says so. */
export const said = (indexer: IndexerProcess, text: string | RegExp): Promise<unknown> =>
  eventually(
    String(text),
    () => Promise.resolve(indexer.output),
    (output) => output.search(text) >= 0,
  );

/** Starts an indexer for each test, and ends it with all faults healed. */
export function useIndexer(bench: ChainBench): {
  readonly process: IndexerProcess;
  metrics(): Promise<string>;
} {
  let process: IndexerProcess;
  let port: number;
  beforeEach(async () => {
    port = await freePort();
    process = bench.indexer({ INDEXER_PORT: `${port}` });
    await bench.deposit(bench.pools[0], 1n);
    await bench.converged();
  });
  afterEach(async () => {
    for (const proxy of bench.proxies) proxy.faults = {};
    await bench.converged();
    await process.end();
  });
  return {
    get process() {
      return process;
    },
    metrics: async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
  };
}

export async function deposits(bench: ChainBench, count = 5): Promise<void> {
  for (let i = 0; i < count; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(1000 + i));
}

const FORGED = 123_456_789n;

/**
 * While `work` runs, one endpoint shows blocks with deposits that nobody else has, and everything that it says of them
 * fits: it is a node of its own, which goes on from the head of the chain.
 */
export async function forging(bench: ChainBench, liar: number, work: () => Promise<unknown>): Promise<void> {
  const node = await startAnvil({ extraArgs: ['--fork-url', bench.anvil.url] });
  try {
    const client = await connect(node.url, devAccount(1));
    for (let i = 0; i < 12; i += 1) await bench.deposit(bench.pools[0], FORGED, undefined, client);
    bench.proxies[liar].target = node.url;
    await work();
    expect(await bench.sql('SELECT FROM transactions WHERE amount = $1', [`${FORGED}`])).toEqual([]);
  } finally {
    bench.proxies[liar].target = bench.anvil.url;
    await node.stop();
  }
}

/** Waits until the endpoint was asked so often that the indexer has gone on for some rounds. */
export const askedOften = (bench: ChainBench, endpoint: number, times = 40): Promise<unknown> => {
  const enough = bench.proxies[endpoint].requests + times;
  return eventually(
    'many requests',
    () => Promise.resolve(bench.proxies[endpoint].requests),
    (count) => count >= enough,
  );
};
