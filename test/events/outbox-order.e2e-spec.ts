import { connect } from '#indexer/leading/leader';
import type { Kind } from '#ledger/adapters/happening';
import { type PublishedRow, READ_ALL } from '../support/events/outbox';
import { LOTTERY, OTHER, PaperChain, SAVER, Written, compact } from '../support/chain/paper-chain';

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const PAID = 'bbbbbbbb-0000-7000-8000-000000000001';
const LATE = 'bbbbbbbb-0000-7000-8000-000000000002';
const inPool = { poolId: compact(POOL), account: SAVER, amount: '10' };
const draw = { contract: LOTTERY, drawId: '3' };

/** Events of all tables, so that each kind is between two of others. */
const MIXED = [
  { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '4' },
  { kind: 'Deposited', ...inPool },
  { kind: 'YieldAccrued', poolId: inPool.poolId, amount: '5', aprBps: 400 },
  { kind: 'Deposited', ...inPool, ref: compact(PAID) },
  { kind: 'DrawOpened', ...draw, amount: '5', drawTime: 2_000_000_000 },
  { kind: 'Withdrawn', ...inPool, amount: '1' },
  { kind: 'TicketsIssued', ...draw, account: OTHER, amount: '4' },
  { kind: 'YieldClaimed', ...inPool, amount: '1' },
] satisfies { kind: Kind; [field: string]: unknown }[];

const TOPICS = {
  Deposited: 'deposit.confirmed',
  Withdrawn: 'withdrawal.confirmed',
  YieldAccrued: 'yield.accrued',
  YieldClaimed: 'yield.claimed',
  TicketsIssued: 'tickets.issued',
  DrawOpened: 'draw.opened',
};

const open = Written.use();

/** A chain of one block, and a database with a pool and two announced deposits. */
async function begin(confirmations = 0): Promise<{ chain: PaperChain; to: Written }> {
  const chain = new PaperChain();
  const to = await open(chain, confirmations);
  const { time: at } = chain.head;
  await to.addPool(POOL, [
    { id: PAID, amount: '10', at },
    { id: LATE, amount: '999', at },
  ]);
  await to.sql('DELETE FROM outbox');
  return { chain, to };
}

const rowsOf = (to: Written): Promise<PublishedRow[]> => to.sql<PublishedRow>(READ_ALL);

interface Told {
  topic: string;
  reverted?: string;
  blockNumber?: number;
  logIndex?: number;
}

/** What was told: topic, and place on the chain. */
async function told(to: Written): Promise<string[]> {
  const events = (await rowsOf(to)).flatMap(({ items }) => items as unknown as Told[]);
  expect(await to.sql('SELECT FROM outbox_staged')).toEqual([]);
  return events.map(({ topic, reverted, blockNumber, logIndex }) =>
    [reverted ? `- ${reverted}` : topic, blockNumber, logIndex].join(' ').trim(),
  );
}

const happened = (chain: PaperChain): string[] =>
  chain.blocks
    .flatMap(({ events }) => events)
    .map(({ kind, blockNumber, logIndex }) =>
      [TOPICS[kind as keyof typeof TOPICS], blockNumber, logIndex].join(' '),
    );

/** Three blocks of them. A deposit is announced for the first only. */
function addMixed(chain: PaperChain): void {
  for (let n = 0; n < 3; n++) chain.add(MIXED);
}

describe('a batch', () => {
  it('is told in the order of the chain, whatever its kinds, as one row', async () => {
    const { chain, to } = await begin();
    addMixed(chain);
    await to.apply(chain);
    expect(await told(to)).toEqual(happened(chain));
    expect(await rowsOf(to)).toHaveLength(1);
  });

  it('is told so too if some of its events were read before, and waited', async () => {
    const { chain, to } = await begin(2);
    addMixed(chain);
    await to.apply(chain);
    const first = happened(chain).filter((event) => event.split(' ')[1] === '1');
    expect(await told(to)).toEqual(first);
    for (let n = 0; n < 4; n++) chain.add(MIXED);
    await to.apply(chain);
    const known = happened(chain).filter((event) => Number(event.split(' ')[1]) <= 5);
    expect(await told(to)).toEqual(known);
    expect(await rowsOf(to)).toHaveLength(2);
  });

  it('is told so if the database refuses one of its events', async () => {
    const { chain, to } = await begin();
    addMixed(chain);
    const [, , , , , refused] = chain.blocks[2].events;
    refused.txHash = `0x${'7'.repeat(64)}`;
    await to.sql(
      `ALTER TABLE transactions ADD CONSTRAINT refusing CHECK (tx_hash IS DISTINCT FROM '${refused.txHash}')`,
    );
    await to.apply(chain);
    expect(await told(to)).toEqual(happened(chain).filter((event) => event !== 'withdrawal.confirmed 2 5'));
  });

  it('of 2,500 events is divided into rows of a thousand, with no statement more', async () => {
    const { chain, to } = await begin();
    const statements = jest.spyOn(to.client, 'query');
    const counts: number[] = [];
    const per = MIXED.length;
    for (const size of [per, 2500]) {
      chain.add(Array.from({ length: size }, (_, i) => MIXED[i % per]));
      const before = statements.mock.calls.length;
      await to.apply(chain);
      counts.push(statements.mock.calls.length - before);
    }
    expect(counts[1]).toBeLessThanOrEqual(counts[0]);
    expect((await rowsOf(to)).map(({ count }) => count)).toEqual([per, 1000, 1000, 500]);
    expect(await told(to)).toEqual(happened(chain));
  });

  it('tells what has no place on the chain behind it', async () => {
    const { chain, to } = await begin();
    chain.add(MIXED);
    chain.add([], 7200);
    await to.apply(chain);
    expect(await told(to)).toEqual([...happened(chain), 'deposit.expired']);
  });
});

describe('a rewind', () => {
  it.each([0, 2])('takes the newest back first, with %i confirmations', async (confirmations) => {
    const { chain, to } = await begin(confirmations);
    addMixed(chain);
    chain.add();
    chain.add();
    await to.apply(chain);
    const before = await told(to);
    expect(before).toEqual(happened(chain));
    await to.rewind(chain.blocks[confirmations + 1]);
    const undone = before.filter((event) => Number(event.split(' ')[1]) > 1).reverse();
    expect((await told(to)).slice(before.length)).toEqual(undone.map((event) => `- ${event}`));
    const branch = chain.fork(confirmations + 1);
    for (let n = 0; n < 6; n++) branch.add(MIXED.slice(0, 3), 12, 1);
    await to.apply(branch);
    const effective = branch.head.number - confirmations;
    const again = happened(branch).filter((event) => {
      const block = Number(event.split(' ')[1]);
      return block > 1 && block <= effective;
    });
    expect((await told(to)).slice(before.length + undone.length)).toEqual(again);
  });

  it('tells of a payment that is on its way again behind its reversal, and that it expires behind that', async () => {
    const { chain, to } = await begin();
    chain.add([], 7200);
    chain.add(MIXED);
    await to.apply(chain);
    const before = (await told(to)).length;
    await to.rewind(chain.blocks[1]);
    expect((await told(to)).slice(before)).toEqual([
      ...happened(chain)
        .reverse()
        .map((event) => `- ${event}`),
      'deposit.submitted',
      'deposit.expired',
    ]);
  });
});

it('is kept by one function alone, which sorts what all others put down', async () => {
  const { to } = await begin();
  // What announces history reads block numbers, but its `reload` has none.
  const publishing = await to.sql<{ name: string; ofChain: boolean }>(
    `SELECT proname AS name, prosrc ~ 'blockNumber|block_number' AS "ofChain" FROM pg_proc
     WHERE prosrc ~ 'INTO outbox\\M' AND proname <> 'pass_history' ORDER BY proname`,
  );
  expect(publishing.filter(({ ofChain }) => ofChain)).toEqual([]);
  expect(publishing.map(({ name }) => name)).toContain('publish_staged');
});

describe('rows that are written by hand', () => {
  const insert = (to: Written, log: number): Promise<unknown> =>
    to.sql(
      `INSERT INTO transactions (id, pool_id, type, status, account, amount, tx_hash, block_number, log_index,
         created_at, confirmed_at, owner_id, by_owner)
       SELECT gen_random_uuid(), id, 'DEPOSIT', 'CONFIRMED', $2, 10, '0x' || $3::int, 7, $3, now(), now(), owner_id, true
       FROM pools WHERE id = $1`,
      [POOL, SAVER, log],
    );
  const remove = (to: Written, log: number): Promise<unknown> =>
    to.sql('DELETE FROM transactions WHERE block_number = 7 AND log_index = $1', [log]);

  it('are told and taken back one after the other, as they were written', async () => {
    const { to } = await begin();
    await to.sql('BEGIN');
    for (const log of [2, 1]) await insert(to, log);
    for (const log of [1, 2]) await remove(to, log);
    await to.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE status = 'PENDING' AND id = '${LATE}'`);
    for (const log of [3, 1]) await insert(to, log);
    await to.sql('COMMIT');
    expect(await told(to)).toEqual([
      'deposit.confirmed 7 1',
      'deposit.confirmed 7 2',
      '- deposit.confirmed 7 2',
      '- deposit.confirmed 7 1',
      'deposit.expired',
      'deposit.confirmed 7 1',
      'deposit.confirmed 7 3',
    ]);
  });

  it('are not told if they are given up, and stop no others', async () => {
    const { to } = await begin();
    await to.sql('BEGIN');
    await to.sql('SAVEPOINT first');
    await insert(to, 1);
    await to.sql('ROLLBACK TO first');
    await insert(to, 2);
    await to.sql('COMMIT');
    await to.sql('BEGIN');
    await insert(to, 3);
    await to.sql('ROLLBACK');
    expect(await told(to)).toEqual(['deposit.confirmed 7 2']);
  });

  it('are told by their own transaction, while others write', async () => {
    const { to } = await begin();
    const beside = await connect(to.databaseUrl);
    await to.sql('BEGIN');
    await insert(to, 1);
    await beside.query('BEGIN');
    // A row of the ledger would wait for the other's.
    await beside.query(
      `INSERT INTO outbox_staged (direction, blocks, logs, items) VALUES (1, '{7}', '{0}', ARRAY[$1::json])`,
      [{ topic: 'yield.accrued', blockNumber: 7, logIndex: 0 }],
    );
    await to.sql('COMMIT');
    expect(await told(to)).toEqual(['deposit.confirmed 7 1']);
    await beside.query('COMMIT');
    await beside.end();
    expect((await told(to)).sort()).toEqual(['deposit.confirmed 7 1', 'yield.accrued 7 0']);
  });
});
