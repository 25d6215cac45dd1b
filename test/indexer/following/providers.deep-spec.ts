import { nodeOf } from '../../support/chain/chain-node';
import { usePaper } from '../../support/chain/paper-bench';
import type { Faults, Log } from '../../support/chain/rpc-node';

/** Whether a call names a block by its hash. */
const hasHash = (_: string, params: unknown[]): boolean => /"blockHash"/.test(JSON.stringify(params));
/** Leaves these out of the first answers that have logs. */
function leavingOut(isLeftOut: (log: Log, logs: Log[]) => boolean): Faults {
  let times = 3;
  return {
    logs: (logs) => (logs.length > 0 && times-- > 0 ? logs.filter((log) => !isLeftOut(log, logs)) : logs),
  };
}

describe('the history of a chain is read', () => {
  const bench = usePaper(3);
  const first = (): NodeJS.ProcessEnv => ({ RPC_URL: bench.node.url });
  const all = (faults: Faults): void => bench.nodes.forEach((node) => (node.faults = faults));
  const past = (block: number): Promise<void> =>
    bench.until(async () => ((await bench.cursor())?.number ?? 0) >= block);

  beforeAll(() => {
    // Sparse, dense, and sparse again.
    for (let i = 0; i < 10; i += 1) {
      if (i === 5) for (let n = 0; n < 20; n += 1) bench.deposit(bench.pools[n % 3], 2_000 + n);
      bench.deposit(bench.pools[i % 3], 1_000 + i);
      bench.mine(80);
    }
  });
  beforeEach(() => bench.startAfresh());

  it.each<[string, Faults, NodeJS.ProcessEnv?]>([
    ['caps ranges and results', { maxRange: 7, maxLogs: 3 }],
    [
      'repeats and shuffles logs, and adds those of other contracts',
      {
        logs(logs) {
          const foreign = logs.map((log) => ({ ...log, address: `0x${'7'.repeat(40)}` }));
          return [...logs, ...foreign, ...logs].sort((a, b) => (a.logIndex + a.address > b.address ? 1 : -1));
        },
      },
    ],
    [
      'refuses batches and block hashes, and leaves events out for some time',
      { maxBatch: 1, refuse: hasHash, ...leavingOut((log, logs) => log === logs.at(-1)) },
    ],
    [
      'leaves out the middle of a range for some time',
      leavingOut((log, logs) => log === logs[logs.length >> 1]),
    ],
    ['leaves out whole blocks for some time', leavingOut(({ blockNumber }) => Number(blockNumber) % 9 === 0)],
  ])('from a provider that %s', async (_, faults) => {
    bench.node.faults = faults;
    await bench.indexer(first());
    for (let i = 0; i < 3; i += 1) bench.deposit(bench.pools[i], 3_000 + i);
    await bench.converged();
  });

  it.each([
    ['the time of its block', (time: number) => time],
    ['a time that cannot be', () => 0],
  ])('from a provider that says %s with each log', async (_, told) => {
    const timeOf = ({ blockNumber }: Log): number => bench.chain.blocks[Number(blockNumber)].time;
    bench.node.faults = {
      logs: (logs) => logs.map((log) => ({ ...log, blockTimestamp: `0x${told(timeOf(log)).toString(16)}` })),
    };
    await bench.converging(first());
    await bench.sameAsAtOnce();
  });

  it('from a provider that is slow to send the logs of several contracts in one block', async () => {
    await bench.converging(first());
    const { number } = bench.openDraw();
    const answers = nodeOf(() => bench.chain);
    bench.node.target = (method, params) => {
      const [{ address, fromBlock, toBlock }] = params as [Record<string, string>];
      const isLate = address?.length > 1 && Number(fromBlock) <= number && Number(toBlock) >= number;
      return isLate ? new Promise(() => undefined) : answers(method, params);
    };
    bench.deposit(bench.pools[0], 1);
    await bench.converged();
  });

  it('from a provider that takes 5 blocks at once, in ranges of many calls', async () => {
    bench.node.faults = { maxRange: 5 };
    bench.node.requests = [];
    await bench.converging(first());
    const reads = bench.node.requests.filter((calls) => calls.some(({ method }) => method === 'eth_getLogs'));
    expect(reads.length).toBeLessThan(bench.chain.head.number / 20);
  });

  it.each([0, 1])('from three endpoints of which one has a cap: %d', async (capped) => {
    const mark = bench.output.length;
    bench.nodes[capped].faults = { maxRange: 5 };
    await bench.converging();
    expect(bench.output.slice(mark)).not.toContain('is not believed');
  });

  it('while the head changes', async () => {
    all({ maxRange: 5 });
    await bench.indexer(first());
    for (const block of [200, 400, 600]) {
      await past(block);
      bench.reorg(20);
      bench.deposit(bench.pools[0], block);
    }
    await bench.converged();
  });

  it('while some ranges fail for long, and others do not', async () => {
    let times = 20;
    all({
      maxRange: 50,
      refuse: (method, [filter]) => {
        const from = method === 'eth_getLogs' ? Number((filter as { fromBlock?: string }).fromBlock) : 0;
        return from > 200 && from < 400 && times-- > 0;
      },
    });
    await bench.converging(first());
    expect(times).toBeLessThan(0);
  });
});
