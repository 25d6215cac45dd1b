import type { Address } from 'viem';
import { freePort } from '#dev/postgres-host';
import { eventually, useChain } from '../../support/chain/chain-bench';

const ROTATING: Address = `0x${'9'.repeat(40)}`;

describe('the contracts that the cursor stands for', () => {
  const bench = useChain();
  let first: Address;
  beforeAll(async () => {
    first = bench.deployment.contracts.lottery;
    bench.deployment.contracts.rotating = ROTATING;
    await bench.deposit(bench.pools[0], 5n);
    await openDraw(first, 3n);
    await follow();
  });
  beforeEach(() => {
    bench.deployment.contracts.lottery = first;
  });

  /** Until the database stands at the head. */
  async function follow(): Promise<void> {
    const indexer = bench.indexer();
    await bench.converged();
    await indexer.end('SIGTERM');
  }
  async function openDraw(contract: Address, tickets: bigint): Promise<void> {
    const { timestamp } = await bench.owner.getBlock();
    await bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 1000n], contract);
    await bench.lottery(bench.saver, 'buyTickets', [1n, tickets], contract);
  }
  const refusal = async (): Promise<string> => {
    const indexer = bench.indexer();
    await indexer.ended;
    expect(indexer.code).toBe(1);
    return indexer.output;
  };
  const followed = async (): Promise<unknown> =>
    (await bench.sql(`SELECT address FROM chain_contracts WHERE type = 'lottery' ORDER BY position`)).map(
      ({ address }) => address as unknown,
    );

  it('halts when one with events is left out, and leaves the ledger', async () => {
    const before = JSON.stringify(await bench.actual());
    bench.deployment.contracts.lottery = `0x${'8'.repeat(40)}`;
    expect(await refusal()).toMatch(
      new RegExp(`no longer has lottery=${first}.*rewind --contract ${first} --to \\d+`, 'i'),
    );
    expect(JSON.stringify(await bench.actual())).toBe(before);
  });

  it('lets one without events come and go', async () => {
    bench.deployment.contracts.rotating = `0x${'7'.repeat(40)}`;
    await follow();
    bench.deployment.contracts.rotating = ROTATING;
    await follow();
  });

  it('follows a new one beside the old, and keeps their draws apart', async () => {
    const second = await bench.addLottery();
    await follow();
    expect(await followed()).toEqual([first, second].map((each) => each.toLowerCase()));
    await openDraw(second, 7n);
    await bench.lottery(bench.other, 'buyTickets', [1n, 2n], first);
    await follow();
    const draws = await bench.sql(
      'SELECT contract, total_tickets::int AS tickets FROM lottery_draws WHERE draw_id = 1 ORDER BY tickets',
    );
    expect(draws).toEqual([
      { contract: first.toLowerCase(), tickets: 5 },
      { contract: second.toLowerCase(), tickets: 7 },
    ]);
    // A reorganisation of the one leaves the other.
    const indexer = bench.indexer();
    await bench.lottery(bench.other, 'buyTickets', [1n, 9n], second);
    await bench.converged();
    await bench.rpc('anvil_reorg', 1, []);
    await bench.converged();
    await indexer.end();
  });

  it('reads the history of a new one alone, and takes nothing of the others back', async () => {
    const third = await bench.addLottery();
    bench.further.pop();
    await openDraw(third, 4n);
    await follow();
    const drawsOf = (): Promise<unknown[]> =>
      bench.sql('SELECT FROM lottery_draws WHERE contract = $1', [third.toLowerCase()]);
    expect(await drawsOf()).toEqual([]);
    bench.further.push(['lottery', third]);
    const asked: unknown[] = [];
    bench.proxy.faults = {
      logs: (logs, filter) => {
        if (filter.address.length > 1) asked.push(Number(filter.fromBlock ?? Infinity));
        return logs;
      },
    };
    const { number } = (await bench.cursor())!;
    expect(await bench.undoneDuring(follow)).toEqual([]);
    bench.proxy.faults = {};
    expect(await drawsOf()).toHaveLength(1);
    expect(asked.filter((from) => (from as number) <= number)).toEqual([]);
  });

  it('refuses one whose events are there as those of another type', async () => {
    bench.further.push(['cooperative', first]);
    expect(await refusal()).toMatch(
      new RegExp(`cooperative=${first} anew.*rewind --contract ${first} --to`, 'i'),
    );
    bench.further.pop();
  });

  it('lists events set aside with their reason, and counts them from the start on', async () => {
    await bench.deposit('ffffffff-ffff-4fff-8fff-ffffffffffff', 31n);
    await follow();
    const listing = bench.indexer({}, ['set-aside', '--limit', '5', '--json']);
    await listing.ended;
    expect(listing.code).toBe(0);
    expect(JSON.parse(listing.output)).toMatchObject([
      {
        outcome: 'UNKNOWN_POOL',
        kind: 'Deposited',
        pool: 'ffffffff-ffff-4fff-8fff-ffffffffffff',
        account: bench.address,
        amount: '31',
        contract: bench.deployment.contracts.cooperative.toLowerCase(),
        txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      },
    ]);
    const wrong = bench.indexer({}, ['set-aside', '--all']);
    await wrong.ended;
    expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('usage')]);
    const port = await freePort();
    const indexer = bench.indexer({ INDEXER_PORT: `${port}` });
    const metric = 'indexer_set_aside_events{reason="unknown_pool"} 1';
    const ask = (): Promise<string> =>
      fetch(`http://127.0.0.1:${port}/metrics`).then(
        (answer) => answer.text(),
        () => '',
      );
    await eventually('the metric', ask, (text) => text.includes(metric));
    await indexer.end();
  });
});
