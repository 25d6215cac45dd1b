import { type ChainBench, type IndexerProcess, eventually, useChain } from '../../support/chain/chain-bench';

/** Waits until the indexer has this block for final, and all headers down to it. */
async function knows(bench: ChainBench, finalized: number): Promise<void> {
  await eventually(
    `final block ${finalized}`,
    () =>
      bench.sql<{ finalized: string | null; lowest: string }>(
        `SELECT finalized_number AS finalized, (SELECT min(number) FROM chain_blocks WHERE number > 0) AS lowest
         FROM chain_cursor`,
      ),
    ([row]) => Number(row.finalized) === finalized && Number(row.lowest) <= Math.max(finalized, 1),
  );
}
const headOf = async (bench: ChainBench): Promise<number> =>
  Number(await bench.owner.getBlockNumber({ cacheTime: 0 }));

describe('where nodes say which blocks are final', () => {
  const bench = useChain();
  let indexer: IndexerProcess;
  afterEach(async () => {
    await indexer.end();
    bench.proxy.tags = {};
    bench.proxy.faults = {};
  });

  it('a reorganisation is followed as deep as they allow, also behind a provider that takes few calls', async () => {
    await bench.mine(150);
    const final = (await headOf(bench)) - 140;
    bench.proxy.tags = { finalized: () => final };
    bench.proxy.faults = { maxBatch: 20 };
    indexer = bench.indexer();
    await bench.deposit(bench.pools[0], 5n);
    await bench.mine(10);
    await bench.converged();
    await knows(bench, final);
    await bench.rpc('anvil_reorg', 130, []);
    await bench.deposit(bench.pools[1], 7n);
    await bench.converged();
    expect(indexer.output).not.toContain('HALTED');
  });

  it('one below the last final block halts, be it shallow, and is followed once it is taken back by hand', async () => {
    await bench.deposit(bench.pools[0], 6n);
    await bench.mine(30);
    const head = await headOf(bench);
    bench.proxy.tags = { finalized: () => head - 3 };
    indexer = bench.indexer();
    await bench.converged();
    await knows(bench, head - 3);
    const before = JSON.stringify(await bench.actual());
    await bench.rpc('anvil_rollback', 5);
    await bench.deposit(bench.pools[0], 6n);
    await bench.mine(5);
    await eventually(
      'halting',
      () => bench.cursor(),
      (cursor) => cursor?.state === 'halted',
    );
    expect(JSON.stringify(await bench.actual())).toBe(before);
    expect(indexer.output).toContain(`changed below final block ${head - 3}`);
    await bench.rewind(head - 6);
    await bench.converged();
    await knows(bench, head - 3);
  });

  it('a node that goes over to a branch of which it calls more final is followed', async () => {
    await bench.mine(5);
    bench.proxy.tags = { finalized: (head) => head - 2 };
    indexer = bench.indexer();
    await bench.converged();
    await knows(bench, (await headOf(bench)) - 2);
    await bench.rpc('anvil_rollback', 2);
    await bench.deposit(bench.pools[0], 8n);
    await bench.mine(9);
    await bench.converged();
    await knows(bench, (await headOf(bench)) - 2);
    expect(indexer.output).not.toContain('HALTED');
  });

  it('CONFIRMATIONS=finalized waits for them, over restarts and while they stall', async () => {
    await bench.mine(3);
    const start = await headOf(bench);
    let final = start;
    bench.proxy.tags = { finalized: () => final };
    indexer = bench.indexer({ CONFIRMATIONS: 'finalized' });
    const { blockNumber } = await bench.deposit(bench.pools[2], 9n);
    await bench.mine(100);
    await bench.atHead();
    await knows(bench, start);
    await indexer.end();
    indexer = bench.indexer({ CONFIRMATIONS: 'finalized' });
    await bench.mine(1);
    await bench.atHead();
    const waiting = async (): Promise<number> =>
      (await bench.sql(`SELECT FROM chain_events WHERE outcome = 'WAITING'`)).length;
    expect(await waiting()).toBe(1);
    // There is no new block when it becomes final.
    final = Number(blockNumber);
    await bench.converged();
    expect(await waiting()).toBe(0);
    await indexer.end();
    indexer = bench.indexer({ CONFIRMATIONS: '0' });
    await bench.deposit(bench.pools[2], 10n);
    await bench.converged();
  });
});

describe('where one of two endpoints lies about what is final', () => {
  const bench = useChain(2);
  let indexer: IndexerProcess;
  afterEach(() => indexer.end());

  it.each([0, 1])('it is not believed alone: %d', async (liar) => {
    await bench.mine(20);
    const final = (await headOf(bench)) - 10;
    bench.proxies[liar].tags = { finalized: (head) => head - 1 };
    bench.proxies[1 - liar].tags = { finalized: () => final };
    indexer = bench.indexer();
    await bench.deposit(bench.pools[0], 11n);
    await bench.converged();
    await knows(bench, final);
    await bench.rpc('anvil_rollback', 5);
    await bench.deposit(bench.pools[0], 12n);
    await bench.mine(5);
    await bench.converged();
    expect(indexer.output).not.toContain('HALTED');
    expect(indexer.output).toContain('events undone');
  });
});
