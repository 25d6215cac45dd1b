import { type IndexerProcess, useChain } from '../../support/chain/chain-bench';
import { SEED, generator } from '../../support/random';


describe('a reorganisation within the window is followed', () => {
  const bench = useChain();
  let indexer: IndexerProcess;
  afterEach(async () => {
    bench.proxy.faults = {};
    await indexer.end();
    expect(indexer.output).not.toContain('HALTED');
  });
  /** Another branch from `depth` blocks below the head, with so many blocks. */
  async function branch(depth: number, length: number): Promise<void> {
    await bench.rpc('anvil_rollback', depth);
    await bench.deposit(bench.pools[0], BigInt(depth));
    if (length > 1) await bench.mine(length - 1);
  }

  it('6 deep right after a start near the head', async () => {
    // Of the contracts there is no event yet.
    await bench.mine(30);
    const head = Number(await bench.owner.getBlockNumber({ cacheTime: 0 }));
    indexer = bench.indexer({ START_BLOCK: `${head - 2}` });
    await bench.deposit(bench.pools[0], 5n);
    await bench.converged();
    await branch(6, 4);
    await bench.converged();
  });

  it.each([50, 10, 1])('behind a provider that takes %d calls at once', async (maxBatch) => {
    await bench.mine(80);
    bench.proxy.faults = { maxBatch };
    indexer = bench.indexer();
    await bench.converged();
    for (let i = 0; i < 10; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(10 + i));
    await bench.mine(20);
    await bench.converged();
    await bench.rpc('anvil_reorg', 25, []);
    await bench.deposit(bench.pools[0], 77n);
    await bench.converged();
    // Gas is filled in behind the same cap.
    let open = 1;
    while (open > 0)
      [{ open }] = await bench.sql<{ open: number }>(
        `SELECT count(*)::int AS open FROM transactions WHERE status = 'CONFIRMED' AND gas_used IS NULL`,
      );
  });

  it('50 deep, then 25 deep with a lower head', async () => {
    await bench.mine(100);
    indexer = bench.indexer();
    await bench.converged();
    await branch(50, 2);
    await bench.converged();
    await branch(25, 3);
    await bench.converged();
    await branch(60, 70);
    await bench.converged();
  });

  it('64 deep, after a rewind by hand', async () => {
    await bench.mine(150);
    indexer = bench.indexer();
    await bench.converged();
    const { number } = (await bench.cursor())!;
    await bench.rewind(number - 40);
    await bench.converged();
    await branch(64, 20);
    await bench.converged();
  });

  it(`of any depth, one after another (SEED=${SEED})`, async () => {
    const random = generator(SEED);
    await bench.mine(200);
    indexer = bench.indexer();
    for (let i = 0; i < 12; i += 1) {
      await bench.converged();
      const depth = 1 + random(64);
      await branch(depth, 1 + random(70));
      if (random(4) > 0) continue;
      await indexer.end();
      indexer = bench.indexer();
    }
    await bench.converged();
  });
});
