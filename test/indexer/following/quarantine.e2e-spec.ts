import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { LOTTERY, POOLS_CONTRACT, SAVER } from '../../support/chain/paper-chain';
import { usePaper } from '../../support/chain/paper-bench';
import type { Log } from '../../support/chain/rpc-node';

const SOON = { QUARANTINE_AFTER: '1' };
const withoutLottery = (logs: Log[]): Log[] => logs.filter(({ address }) => address !== LOTTERY);
/** Changes a log as if the ABI had one more `indexed` than the contract. */
const relaid = (logs: Log[]): Log[] =>
  logs.map((log) => {
    const { address, topics, data } = log;
    if (address !== LOTTERY) return log;
    return { ...log, topics: topics.slice(0, -1), data: `${topics.at(-1)}${data.slice(2)}` };
  });

describe('a contract whose events break', () => {
  const bench = usePaper();
  const apart = (state: string): Promise<void> =>
    bench.until(async () => {
      const [row] = await bench.sql('SELECT address, state FROM chain_contracts_apart');
      return row?.address === LOTTERY && row.state === state;
    });

  beforeAll(async () => {
    bench.openDraw();
    bench.deposit(bench.pools[0], 5);
    await bench.converging(SOON);
    await bench.end();
  });

  it.each([
    ['by their numbers', withoutLottery, 'left out'],
    [
      'by their layout',
      relaid,
      `TicketsIssued of ${LOTTERY} does not have the layout that ReferencePool.ticketsIssued expects`,
    ],
  ])('%s is quarantined while the others continue, and rejoins when it is complete', async (_, logs, why) => {
    const amount = why.length;
    const app: NestFastifyApplication = await bench.indexer(SOON);
    const get = async (url: string): Promise<string> => (await app.inject({ method: 'GET', url })).body;
    // It reports after its commits.
    const reported = async (wanted: object): Promise<void> => {
      await bench.until(async () => {
        const { status, contracts } = JSON.parse(await get('/health')) as Record<string, unknown>;
        return status === 'synced' && Boolean(contracts) === 'contracts' in wanted;
      });
      expect(JSON.parse(await get('/health'))).toMatchObject(wanted);
    };
    await bench.converged();
    const undone = await bench.undoneDuring(async () => {
      bench.node.faults = { logs };
      bench.buyTickets();
      await apart('quarantined');
      bench.deposit(bench.pools[1], amount);
      await bench.atHead();
      expect(await bench.sql('SELECT FROM transactions WHERE amount = $1', [amount])).toHaveLength(1);
      const reason = expect.stringContaining(why) as string;
      await reported({ contracts: [{ address: LOTTERY, state: 'quarantined', reason }] });
      expect(await get('/metrics')).toContain(
        `indexer_contract_state{contract="${LOTTERY}",state="quarantined"} 1`,
      );
      await bench.recovered();
    });
    expect(undone).toEqual([]);
    await reported({ status: 'synced' });
  });

  it('continues past logs that no method reads, which are counted and reported by topic', async () => {
    const topic = (n: number): string => `0x${`${n}`.padStart(64, '7')}`;
    const app = await bench.converging();
    const mark = bench.output.length;
    const first = bench.buyTickets().number;
    bench.node.faults = {
      logs: (logs) =>
        logs.flatMap((log) =>
          log.address !== LOTTERY || Number(log.blockNumber) < first
            ? log
            : [
                log,
                ...Array.from({ length: 25 }, (_, n) => ({
                  ...log,
                  topics: [topic(n)],
                  logIndex: `0x${(100 + n).toString(16)}`,
                })),
              ],
        ),
    };
    const count = (label: string): string =>
      `indexer_unread_logs_total{contract="${LOTTERY}",topic="${label}"}`;
    bench.buyTickets();
    await bench.converged();
    await bench.until(async () => {
      const { body } = await app.inject({ method: 'GET', url: '/metrics' });
      return [`${count(topic(0))} 2`, `${count('other')} 10`].every((line) => body.includes(line));
    });
    expect(bench.output.slice(mark).split(topic(0))).toHaveLength(2);
    const kept = async (): Promise<number> =>
      (await bench.sql<{ unread_topics: string[] }>('SELECT unread_topics FROM chain_contracts')).flatMap(
        ({ unread_topics: topics }) => topics,
      ).length;
    expect(await kept()).toBe(20);
    bench.heal();
    await bench.rewind(first - 1, LOTTERY);
    await bench.converged();
    expect(await kept()).toBe(0);
  });

  it('stays so for the next leader and through a reorganisation, and loses nothing', async () => {
    await bench.indexer(SOON);
    bench.node.faults = { logs: withoutLottery };
    bench.buyTickets();
    await apart('quarantined');
    await bench.end();
    bench.deposit(bench.pools[1], 8);
    bench.buyTickets();
    await bench.indexer(SOON);
    await bench.atHead();
    await apart('quarantined');
    bench.mine(3);
    bench.reorg(4);
    await bench.atHead();
    bench.buyTickets();
    await bench.end();
    bench.heal();
    await bench.converging(SOON);
    await bench.sameAsAtOnce();
  });

  // In front of the cursor, as a version leaves it that does not know of such contracts, and has moved the cursor.
  it.each([5, -1])(
    'is read again from before its last event when it is at a block of another branch: %i',
    async (offset) => {
      await bench.sql(
        `INSERT INTO chain_contracts_apart (address, block_number, block_hash, block_time, state, reason)
       VALUES ($1, $2, '0xother', now(), 'catching_up', 'a test')`,
        [LOTTERY, (await bench.cursor())!.number + offset],
      );
      await bench.indexer(SOON);
      bench.mine(Math.max(offset, 0) + 1);
      await bench.converged();
    },
  );

  it.each(['to before its first event', 'without a block'])(
    'alone is read again after a rewind %s',
    async (how) => {
      bench.buyTickets();
      await bench.converging(SOON);
      await bench.end();
      const its = bench.chain.blocks.flatMap(({ number, events }) =>
        events.flatMap(({ contract }) => (contract === LOTTERY ? number : [])),
      );
      const undone = await bench.undoneDuring(async () => {
        const to = how === 'without a block' ? undefined : its[0] - 1;
        expect(await bench.rewind(to, LOTTERY)).toBe(its.length);
        await apart('catching_up');
        await bench.converging(SOON);
      });
      expect(undone).toEqual(its);
      await expect(bench.rewind(its[0] - 1, `0x${'7'.repeat(40)}`)).rejects.toThrow('none of the contracts');
    },
  );
});

describe('a block of which an endpoint sends no more than three logs at once', () => {
  const bench = usePaper();
  const poolId = (): string => bench.pools[0].replaceAll('-', '');
  /** A block with this many payments and purchases of tickets. */
  const crowd = (deposits: number, tickets: number): void => {
    const payment = { kind: 'Deposited', poolId: poolId(), account: SAVER, amount: '5' } as const;
    const purchase = {
      kind: 'TicketsIssued',
      contract: LOTTERY,
      drawId: '1',
      account: SAVER,
      amount: '1',
    } as const;
    bench.add(
      ...Array.from({ length: deposits }, () => payment),
      ...Array.from({ length: tickets }, () => purchase),
    );
  };
  const withoutReceipts = (method: string): boolean => method.includes('Receipt');

  beforeAll(() => void bench.openDraw());

  it.each([
    ['from its receipts', 7, 2, {}],
    ['from its receipts if both contracts are too large', 7, 8, {}],
    ['from its receipts if it takes no batches', 7, 2, { maxBatch: 1 }],
  ])('is read %s', async (_, deposits, tickets, faults) => {
    await bench.converging(SOON);
    const mark = bench.output.length;
    bench.node.faults = { maxLogs: 3, ...faults };
    crowd(deposits, tickets);
    await bench.converged();
    bench.mine(70);
    await bench.converged();
    expect(bench.output.slice(mark)).not.toContain('quarantined');
  });

  it('far from the head is also read from its receipts', async () => {
    await bench.startAfresh();
    bench.node.faults = { maxLogs: 3 };
    await bench.converging(SOON);
    await bench.sameAsAtOnce();
  });

  it('without receipts quarantines only the contract that made it so large', async () => {
    await bench.converging(SOON);
    bench.node.faults = { maxLogs: 3, refuse: withoutReceipts };
    crowd(7, 2);
    bench.buyTickets();
    await bench.atHead();
    const [{ reason, ...apart }] = await bench.sql(
      'SELECT address, state, reason FROM chain_contracts_apart',
    );
    expect(apart).toEqual({ address: POOLS_CONTRACT, state: 'quarantined' });
    const { number } = bench.chain.head;
    expect(reason).toMatch(`events of ${POOLS_CONTRACT} in block ${number - 1} cannot be read: eth_getLogs`);
    await bench.recovered();
    await bench.sameAsAtOnce();
  });

  it('without receipts loses nothing if only all contracts together have too many logs', async () => {
    await bench.converging(SOON);
    bench.node.faults = { maxLogs: 3, refuse: withoutReceipts };
    crowd(3, 2);
    bench.mine(1);
    await bench.converged();
    await bench.sameAsAtOnce();
  });

  it('quarantines nothing where the endpoint gives no logs at all', async () => {
    await bench.converging(SOON);
    bench.node.faults = { refuse: (method) => method === 'eth_getLogs' };
    const mark = bench.output.length;
    crowd(1, 1);
    await bench.said('waiting: eth_getLogs', 5, mark);
    expect(bench.output.slice(mark)).not.toContain('quarantined');
    await bench.recovered();
  });
});

describe('a contract whose first event cannot be read', () => {
  const bench = usePaper();

  it('stays quarantined until the cursor has passed it', async () => {
    bench.mine(3);
    await bench.indexer(SOON);
    await bench.atHead();
    bench.node.faults = { logs: relaid };
    bench.openDraw();
    bench.buyTickets();
    bench.deposit(bench.pools[0], 5);
    await bench.atHead();
    await bench.recovered();
  });

  it('stays quarantined although a reorganisation takes the cursor back before it', async () => {
    bench.mine(10);
    await bench.converging(SOON);
    bench.node.faults = { logs: relaid };
    bench.buyTickets();
    await bench.said(`${LOTTERY} is quarantined`, 1, bench.output.length);
    const mark = bench.output.length;
    bench.rollback(6);
    bench.mine(6);
    bench.buyTickets();
    await bench.atHead();
    expect(bench.output.slice(mark)).toContain('events undone');
    expect(bench.output.slice(mark)).not.toContain('is quarantined');
    await bench.recovered();
  });
});

describe('a contract whose event numbers break at two endpoints that must agree', () => {
  const bench = usePaper(2);

  it('is quarantined, and both are believed about the others', async () => {
    const isApart = async (): Promise<boolean> =>
      (await bench.sql('SELECT FROM chain_contracts_apart')).length > 0;
    await bench.converging({ ...SOON, RPC_AGREE: '2' });
    bench.node.faults = { logs: withoutLottery };
    bench.openDraw();
    // The one that leaves out is found out by its own counts.
    await bench.said('is not believed', 1, 0);
    bench.nodes[1].faults = { logs: withoutLottery };
    await bench.until(isApart);
    bench.deposit(bench.pools[0], 7);
    await bench.atHead();
    await bench.recovered();
  });

  it('are read in the same way from an endpoint that caps its answers', async () => {
    await bench.converging({ ...SOON, RPC_AGREE: '2' });
    await bench.end();
    const mark = bench.output.length;
    bench.nodes[1].faults = { maxLogs: 3 };
    const [poolId] = bench.pools.map((id) => id.replaceAll('-', ''));
    for (const deposits of [1, 7, 1])
      bench.add(...Array(deposits).fill({ kind: 'Deposited', poolId, account: SAVER, amount: '5' }));
    await bench.converging({ ...SOON, RPC_AGREE: '2' });
    expect(bench.output.slice(mark)).not.toMatch(/not believed|differ/);
  });
});
