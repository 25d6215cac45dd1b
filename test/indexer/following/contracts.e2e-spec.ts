import { LOTTERY, NEW_LOTTERY, OTHER_CONTRACT, POOLS_CONTRACT } from '../../support/chain/paper-chain';
import { usePaper } from '../../support/chain/paper-bench';

const THIRD = `0x${'d3'.repeat(20)}`;

describe('the contracts that the cursor stands for', () => {
  const bench = usePaper();
  /** Until one more block is read of the contracts that are followed. */
  const read = async (settings?: NodeJS.ProcessEnv): Promise<void> => {
    bench.mine(1);
    await bench.indexer(settings);
    await bench.atHead();
    await bench.end();
  };
  /** Until all events of the chain are read. */
  const follow = async (settings?: NodeJS.ProcessEnv): Promise<void> => {
    bench.mine(1);
    await bench.converging(settings);
    await bench.end();
  };
  const contracts = (): Promise<unknown> =>
    bench.sql(
      'SELECT DISTINCT address, from_block::int AS from FROM chain_contracts WHERE address = ANY($1) ORDER BY 1',
      [[POOLS_CONTRACT, OTHER_CONTRACT, LOTTERY, NEW_LOTTERY]],
    );

  it('are read from the earliest of their start blocks on; one that is added behind the cursor, from its own', async () => {
    bench.mine(45);
    bench.openDraw('1', NEW_LOTTERY);
    await read({ START_BLOCK: `${POOLS_CONTRACT}:20,30` });
    expect(await contracts()).toEqual([POOLS_CONTRACT, LOTTERY].map((address) => ({ address, from: 20 })));
    bench.further = [`cooperative=${OTHER_CONTRACT}`, `lottery=${NEW_LOTTERY}`];
    const { number } = bench.chain.head;
    await follow({ START_BLOCK: `${POOLS_CONTRACT}:20,${OTHER_CONTRACT}:35,${NEW_LOTTERY}:40,30` });
    expect(await contracts()).toEqual([
      { address: POOLS_CONTRACT, from: 20 },
      // The node says that there are no events of it yet.
      { address: OTHER_CONTRACT, from: number + 1 },
      { address: LOTTERY, from: 20 },
      { address: NEW_LOTTERY, from: 40 },
    ]);
  });

  it('may lack one without events', async () => {
    bench.further = [`lottery=${NEW_LOTTERY}`];
    await follow();
    expect(await bench.sql('SELECT FROM chain_contracts WHERE address = $1', [OTHER_CONTRACT])).toEqual([]);
  });

  it('may not lack one with events', async () => {
    bench.openDraw();
    await follow();
    const before = await bench.written.state();
    const POOL_CONTRACTS = bench.settings().POOL_CONTRACTS.replace(`lottery=${LOTTERY},`, '');
    const { number } = bench.chain.blocks.find(({ events }) => events[0]?.contract === LOTTERY)!;
    expect(await bench.refusal({ POOL_CONTRACTS })).toContain(
      `no longer has lottery=${LOTTERY}, whose events are in the ledger. Name it again (the last contract of a ` +
        `type gets new pools), or take its events back: rewind --contract ${LOTTERY} --to ${number - 1}`,
    );
    expect(await bench.written.state()).toEqual(before);
  });

  it('may not have one whose events are there as those of another type', async () => {
    bench.further.push(`cooperative=${LOTTERY}`);
    expect(await bench.refusal()).toMatch(
      new RegExp(`cooperative=${LOTTERY} again.*rewind --contract ${LOTTERY} --to`),
    );
    bench.further.pop();
  });

  it('keep apart what is of each, also through a reorganisation', async () => {
    bench.buyTickets('1', NEW_LOTTERY);
    bench.buyTickets();
    await bench.converging();
    bench.buyTickets('1', NEW_LOTTERY);
    await bench.converged();
    bench.reorg(1);
    await bench.converged();
    const draws = await bench.sql(
      'SELECT contract, total_tickets::int AS tickets FROM lottery_draws ORDER BY contract',
    );
    expect(draws).toEqual([LOTTERY, NEW_LOTTERY].map((contract) => ({ contract, tickets: 1 })));
    await bench.sameAsAtOnce();
  });

  it('have the history of one that is added read alone, and nothing of the others taken back', async () => {
    bench.openDraw('1', THIRD);
    await read();
    const { number } = bench.chain.head;
    bench.further.push(`lottery=${THIRD}`);
    bench.node.requests = [];
    const undone = await bench.undoneDuring(() => follow());
    expect(undone).toEqual([]);
    const asked = bench.node.calls.flatMap(({ method, params: [filter] }) =>
      method === 'eth_getLogs' ? [filter as { address: string[]; fromBlock?: string }] : [],
    );
    expect(asked.length).toBeGreaterThan(0);
    for (const { address, fromBlock } of asked)
      if (Number(fromBlock) <= number) expect(address).toEqual([THIRD]);
  });

  it('have events that are set aside, which are counted from the start on', async () => {
    bench.deposit('ffffffff-ffff-4fff-8fff-ffffffffffff', 31);
    await follow();
    const app = await bench.indexer();
    await bench.until(async () =>
      (await app.inject({ url: '/metrics' })).body.includes(
        'indexer_set_aside_events{reason="unknown_pool"} 1',
      ),
    );
  });
});
