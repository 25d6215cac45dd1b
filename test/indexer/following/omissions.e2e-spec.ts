import { LOTTERY } from '../../support/chain/paper-chain';
import { usePaper } from '../../support/chain/paper-bench';
import type { Log } from '../../support/chain/rpc-node';

describe('a node that leaves out events', () => {
  const bench = usePaper();
  const isQuiet = ({ address }: Log): boolean => address === LOTTERY;
  const withoutQuiet = (logs: Log[]): Log[] => logs.filter((log) => !isQuiet(log));

  beforeAll(async () => {
    for (let i = 0; i < 10; i += 1) {
      bench.deposit(bench.pools[i % 3], 100 + i);
      bench.mine(20);
    }
    bench.openDraw();
    await bench.converging();
    await bench.end();
  });

  it.each([
    ['the first one of a quiet contract', withoutQuiet],
    ['all', () => []],
  ])('after a restart has nothing taken back: %s', async (_, logs) => {
    bench.buyTickets();
    bench.deposit(bench.pools[0], 1);
    bench.node.faults = { logs };
    const before = (await bench.cursor())!;
    const undone = await bench.undoneDuring(async () => {
      await bench.indexer();
      await bench.said('left out', 4);
      const { number, state } = (await bench.cursor())!;
      expect(number).toBeGreaterThanOrEqual(before.number);
      expect(state).not.toBe('synced');
      await bench.recovered();
    });
    expect(undone).toEqual([]);
  });

  it('after a rewind by hand has only that taken back', async () => {
    await bench.converging();
    const to = bench.chain.head.number - 30;
    const wanted = bench.chain.blocks.slice(to + 1).flatMap(({ number, events }) => events.map(() => number));
    expect(wanted.length).toBeGreaterThan(2);
    const undone = await bench.undoneDuring(async () => {
      bench.node.faults = { logs: () => [] };
      await bench.rewind(to);
      await bench.said('left out', 4);
      await bench.recovered();
    });
    expect(undone).toEqual(wanted);
  });

  it('has its contract read again from before an event that was missed, and nothing taken back', async () => {
    const { number: lacking } = bench.buyTickets();
    bench.deposit(bench.pools[0], 3);
    bench.mine(82);
    await bench.startAfresh();
    // Final blocks are read without their state, which would show that the event lacks.
    bench.node.faults = {
      refuse: (method) => method === 'eth_call',
      logs: (logs) => logs.filter(({ blockNumber }) => Number(blockNumber) !== lacking),
    };
    const mark = bench.output.length;
    await bench.indexer({ QUARANTINE_AFTER: '1' });
    await bench.until(async () => (await bench.cursor())?.number === lacking + 19);
    const undone = await bench.undoneDuring(async () => {
      await bench.recovered();
    });
    expect(undone).toEqual([]);
    expect(bench.output.slice(mark)).toContain(`${LOTTERY} is catching_up`);
    await bench.sameAsAtOnce();
  });
});
