import { type IndexerProcess, eventually, useChain } from '../../support/chain/chain-bench';
import type { Log } from '../../support/chain/chain-proxy';

describe('a node that leaves out events', () => {
  const bench = useChain();
  let indexer: IndexerProcess;
  const heal = (): void => void (bench.proxy.faults = {});
  afterEach(async () => {
    heal();
    await indexer.end();
  });

  const quiet = (log: Log): boolean =>
    log.address.toLowerCase() === bench.deployment.contracts.lottery.toLowerCase();
  const buyTickets = (): Promise<unknown> => bench.lottery(bench.saver, 'buyTickets', [1n, 1n]);
  const saysOf = (process: IndexerProcess, text: string): Promise<unknown> =>
    eventually(
      text,
      () => Promise.resolve(process.output),
      (output) => output.split(text).length > 4,
    );

  beforeAll(async () => {
    for (let i = 0; i < 40; i += 1) {
      await bench.deposit(bench.pools[i % 3], BigInt(100 + i));
      await bench.mine(20);
    }
    indexer = bench.indexer();
    await bench.converged();
    await indexer.end();
    const { timestamp } = await bench.owner.getBlock();
    await bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 10_000_000n]);
  });

  it.each([
    ['the first one of a quiet contract', (logs: Log[]) => logs.filter((log) => !quiet(log))],
    ['all', () => []],
  ])('after a restart has nothing taken back: %s', async (_, logs) => {
    await buyTickets();
    await bench.deposit(bench.pools[0], 1n);
    bench.proxy.faults = { logs };
    const before = (await bench.cursor())!;
    const undone = await bench.undoneDuring(async () => {
      indexer = bench.indexer();
      await saysOf(indexer, 'left out');
      expect((await bench.cursor())!.number).toBeGreaterThanOrEqual(before.number);
      expect((await bench.cursor())!.state).not.toBe('synced');
      heal();
      await bench.converged();
    });
    expect(undone).toEqual([]);
  });

  it('after a takeover has nothing taken back', async () => {
    indexer = bench.indexer();
    await bench.converged();
    const standby = bench.indexer();
    bench.proxy.faults = { logs: (logs) => logs.filter((log) => !quiet(log)) };
    const undone = await bench.undoneDuring(async () => {
      await indexer.end('SIGKILL');
      await buyTickets();
      await saysOf(standby, 'left out');
      heal();
      await bench.converged();
    });
    expect(undone).toEqual([]);
    await standby.end();
  });

  it('after a rewind by hand has only that taken back', async () => {
    indexer = bench.indexer();
    await bench.converged();
    const { number } = (await bench.cursor())!;
    const wanted = await bench.sql<{ block: number }>(
      'SELECT block_number::int AS block FROM chain_events WHERE block_number > $1 ORDER BY 1',
      [number - 30],
    );
    const undone = await bench.undoneDuring(async () => {
      bench.proxy.faults = { logs: () => [] };
      await bench.rewind(number - 30);
      await saysOf(indexer, 'left out');
      heal();
      await bench.converged();
    });
    expect(undone).toEqual(wanted.map(({ block }) => block));
  });

  /** Reads final blocks from a node without their state, which leaves the lottery's last event out. */
  async function missed(depth: number): Promise<number> {
    await buyTickets();
    const lacking = Number(await bench.owner.getBlockNumber({ cacheTime: 0 }));
    await bench.deposit(bench.pools[0], 3n);
    await bench.mine(depth - 2 + 64);
    const final = lacking + depth - 1;
    await bench.startAfresh();
    bench.proxy.faults = {
      refuse: (method) => method === 'eth_call',
      logs: (logs) => logs.filter((log) => Number(log.blockNumber) !== lacking),
    };
    indexer = bench.indexer();
    await eventually(
      'the border of final blocks',
      () => bench.cursor(),
      (cursor) => cursor?.number === final,
    );
    return lacking;
  }

  it.each([
    ['', 20],
    [' deeper than the window', 90],
  ])(
    'has its contract read again from where an event was missed%s, and nothing taken back',
    async (_, depth) => {
      const lacking = await missed(depth);
      const undone = await bench.undoneDuring(async () => {
        heal();
        await bench.converged();
      });
      expect(undone).toEqual([]);
      expect(indexer.output).toContain(`in block ${lacking} was missed`);
    },
  );

  it('has nothing taken back from blocks that are not proven, as long as the event is not found in them', async () => {
    await bench.deposit(bench.pools[0], 4n);
    const border = Number(await bench.owner.getBlockNumber({ cacheTime: 0 }));
    await bench.mine(63);
    await buyTickets();
    await bench.startAfresh();
    bench.proxy.faults = { refuse: (method) => method === 'eth_call' };
    indexer = bench.indexer();
    // From here on no answer is under way that was complete.
    await eventually(
      'the border of final blocks',
      async () => [await bench.cursor(), indexer.output] as const,
      ([cursor, output]) => cursor?.number === border && output.includes('state of the last block'),
    );
    const undone = await bench.undoneDuring(async () => {
      bench.proxy.faults = { logs: (logs) => logs.filter((log) => !quiet(log)) };
      await saysOf(indexer, 'left out');
      heal();
      await bench.converged();
    });
    expect(undone).toEqual([]);
  });
});
