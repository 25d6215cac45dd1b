import type { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { valuesOf } from '#platform/postgres/statement';
import { CREATE_POOLS } from '#features/pools/pools.sql';
import { CONTRACTS, type SignedIn, TEN, until, useApp } from '../support/app';
import { INSERT_ROW, IS_BLOCKED, connectAs, ledgerRow, ownership, rowValues } from '../support/ledger';
import { lookUpOnly } from '../support/lists';
import { planNodes } from '../support/plans';
import { differences } from '../support/recount';
import { newWallet } from '../support/wallet';

const app = useApp();
let owner: SignedIn;
let victim: SignedIn;

beforeAll(async () => {
  [owner, victim] = [await app.signIn(), await app.signIn()];
});
afterEach(async () => expect(await differences(app)).toEqual([]));

const connect = (application: string): Promise<Client> => connectAs(app, application);
const TABLES = ['pools', 'pool_members', 'transactions', 'account_days', 'pool_totals'];

/** Rows that a transaction has inserted, updated or deleted so far, except those of the global totals. */
async function written(client: Client): Promise<number> {
  const { rows } = await client.query<{ name: string; written: number }>(
    `SELECT relname AS name, (n_tup_ins + n_tup_upd + n_tup_del)::int AS written FROM pg_stat_xact_user_tables
     WHERE relname <> 'pool_totals'`,
  );
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(TABLES.slice(0, 4)));
  return rows.reduce((sum, row) => sum + row.written, 0);
}

it.each([0, 100])('a deposit of an outsider into a pool of %s members writes five rows', async (count) => {
  const members = Array.from({ length: count }, () => newWallet().address);
  const { id: poolId } = await app.createPool(owner, { members });
  for (const application of ['indexer', 'writer']) {
    const client = await connect(application);
    await client.query('BEGIN');
    const payers = [newWallet().address.toLowerCase(), owner.address, ...members.slice(0, 1)];
    for (const [n, account] of payers.entries()) {
      const before = await written(client);
      await client.query(INSERT_ROW, rowValues(ledgerRow({ poolId, account: account.toLowerCase() })));
      // The row, its pool, a day of the payer and of the owner, and what is told of it. Its event makes six.
      expect((await written(client)) - before).toBeLessThanOrEqual(n === 1 ? 4 : 5);
    }
    await client.query('COMMIT');
  }
});

it('a deposit into a pool of members of very many pools writes two rows more for each of them, and no other', async () => {
  const crowded = [newWallet().address, newWallet().address];
  await lookUpOnly(app, 1);
  for (let i = 0; i < 3; i++) await app.createPool(owner, { members: crowded });
  const [last] = await app.sql<{ id: string }>('SELECT max(id::text) AS id FROM pools');
  const fresh = await app.createPool(owner, { members: [newWallet().address] });
  for (const [poolId, more] of [
    [last.id, 2 * crowded.length],
    [fresh.id as string, 0],
  ] as const) {
    const client = await connect('indexer');
    await client.query('BEGIN');
    // Two, because a new kind of transaction may write more than the next one of its kind.
    for (let turn = 0; turn < 2; turn++) {
      const before = await written(client);
      await client.query(INSERT_ROW, rowValues(ledgerRow({ poolId, account: owner.address })));
      expect((await written(client)) - before).toBeLessThanOrEqual(4 + more);
    }
    await client.query('COMMIT');
  }
  await lookUpOnly(app, 32);
});

it('a pool reads no more rows of members when many were made since statistics were gathered', async () => {
  const newMembers = (length: number): string[] => Array.from({ length }, () => newWallet().address);
  for (let i = 0; i < 20; i++) await app.createPool(owner, { members: newMembers(100) });
  await app.sql('VACUUM ANALYZE pool_members');
  await lookUpOnly(app, 1);
  const members = newMembers(10);
  for (let i = 0; i < 40; i++) await app.createPool(owner, { members });
  const client = await connect('writer');
  await client.query('BEGIN');
  await client.query({
    text: CREATE_POOLS.text,
    values: valuesOf(CREATE_POOLS, {
      ...{ pools: [uuidv7()], deposits: [uuidv7()], types: ['cooperative'], owners: [owner.user.id] },
      ...{ contracts: [CONTRACTS.cooperative], autoCompound: [false], ownerAddresses: [owner.address] },
      ...{
        members: [`{${members.join().toLowerCase()}}`],
        amounts: [TEN],
        createdAt: [new Date().toISOString()],
      },
    }),
  });
  const { rows } = await client.query<{ read: number }>(
    `SELECT idx_tup_fetch::int AS read FROM pg_stat_xact_user_tables WHERE relname = 'pool_members'`,
  );
  await lookUpOnly(app, 32);
  expect(rows[0].read).toBeLessThanOrEqual(6 * members.length);
});

describe('while a batch of events is not committed, POST /pools waits for nothing', () => {
  afterAll(() => lookUpOnly(app, 32));
  it.each([
    ['names the caller a member', 32, () => owner, () => [victim.address]],
    ['names a member of very many pools', 1, () => owner, () => [victim.address]],
    ['is of a pool of the caller', 32, () => victim, () => [newWallet().address]],
  ])('that %s', async (_what, few, whose, members) => {
    await lookUpOnly(app, few);
    const { id: poolId } = await app.createPool(whose(), { members: members() });
    const [{ id: pending }] = await app.sql<{ id: string }>(
      'SELECT id FROM transactions WHERE pool_id = $1',
      [poolId],
    );
    const batch = await connect('indexer');
    await batch.query('BEGIN');
    // It confirms, inserts, accrues and takes back, also for the caller's account.
    await batch.query(
      `UPDATE transactions SET status = 'CONFIRMED', tx_hash = 'x', block_number = 1, log_index = 0 WHERE id = $1`,
      [pending],
    );
    for (const { address } of [owner, victim])
      await batch.query(INSERT_ROW, rowValues(ledgerRow({ poolId, account: address })));
    await batch.query(`INSERT INTO yield_accruals VALUES (9, 0, $1, 5, 100, now())`, [poolId]);
    await batch.query(`DELETE FROM transactions WHERE pool_id = $1 AND account = $2 AND id <> $3`, [
      poolId,
      victim.address,
      pending,
    ]);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        app.post(
          '/pools',
          { type: 'cooperative', initialDeposit: TEN, members: [owner.address, victim.address] },
          i % 2 ? victim : owner,
          i % 3 ? {} : { 'idempotency-key': `beside-${poolId}-${i}` },
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    await batch.query('COMMIT');
  });
});

it('two batches over the same pools and accounts, in any order, finish without a deadlock', async () => {
  await app.sql(
    `ALTER DATABASE ${(await app.sql('SELECT current_database() AS name'))[0].name} SET deadlock_timeout = 20`,
  );
  const pools: string[] = [];
  for (let i = 0; i < 12; i++) pools.push((await app.createPool(i % 2 ? owner : victim)).id as string);
  const insert = async (n: number): Promise<void> => {
    const client = await connect(n % 2 ? 'indexer' : 'writer');
    const rows = (n % 2 ? pools : [...pools].reverse()).flatMap((poolId) =>
      [owner, victim].map(({ address }) => ledgerRow({ poolId, account: address })),
    );
    for (let turn = 0; turn < 4; turn++)
      await client.query(
        `INSERT INTO transactions (id, pool_id, type, status, account, amount, created_at, owner_id, by_owner)
         SELECT gen_random_uuid(), pool_id, 'DEPOSIT', 'PENDING', account, 1, now(), ${ownership('pool_id', 'account')}
         FROM unnest($1::uuid[], $2::text[]) r(pool_id, account)`,
        [rows.map((row) => row.poolId), rows.map(({ account }) => account)],
      );
  };
  await Promise.all([0, 1, 2, 3].map(insert));
});

it('a payment counts once while its payer leaves the pool', async () => {
  const { id: poolId } = await app.createPool(owner, { members: [victim.address] });
  const [payment, leaving] = [await connect('indexer'), await connect('api')];
  const { rows } = await leaving.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const leave = `DELETE FROM pool_members WHERE pool_id = $1 AND address = $2`;
  await payment.query('BEGIN');
  await payment.query(INSERT_ROW, rowValues(ledgerRow({ poolId, account: victim.address })));
  const left = leaving.query(leave, [poolId, victim.address]);
  await until(async () => (await app.sql(IS_BLOCKED, [rows[0].pid])).length > 0);
  await payment.query('COMMIT');
  await left;
  const { body } = await app.get(`/transactions?poolId=${poolId}`, victim);
  expect(body.pagination.total).toBe(1);
  expect((await app.get(`/pools/${poolId}`, victim)).status).toBe(403);
});

describe('a pool is removed while a payment into it comes', () => {
  it.each(['payment', 'removal'])('the %s first', async (first) => {
    const { id: poolId } = await app.createPool(owner);
    await app.sql('DELETE FROM transactions WHERE pool_id = $1', [poolId]);
    const statements: [string, unknown[]][] = [
      [INSERT_ROW, rowValues(ledgerRow({ poolId, account: victim.address }))],
      ['DELETE FROM pools WHERE id = $1', [poolId]],
    ];
    if (first === 'removal') statements.reverse();
    const [one, two] = [await connect('indexer'), await connect('writer')];
    const { rows } = await two.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await one.query('BEGIN');
    await one.query(...statements[0]);
    const second = two.query(...statements[1]).then(
      () => 'done',
      (error: Error & { constraint?: string }) => error.constraint,
    );
    await until(async () => (await app.sql(IS_BLOCKED, [rows[0].pid])).length > 0);
    await one.query('COMMIT');
    expect(await second).toBe('transactions_pool_id_fkey');
  });
});

describe('the cost of one statement for many rows is linear, also after one for a single row on the same connection:', () => {
  const COUNT = 1000;
  let client: Client;
  beforeEach(async () => {
    client = await connect('indexer');
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO new_pools SELECT array_agg(gen_random_uuid()), array_agg('cooperative'::text), array_agg(id),
         array_agg('${CONTRACTS.cooperative.toLowerCase()}'::text), array_agg(false), array_agg('{}'::text), array_agg(now()),
         array_agg(address::text), array_agg(gen_random_uuid()), array_agg(5::numeric)
       FROM users CROSS JOIN generate_series(1, ${COUNT}) WHERE address = $1`,
      [owner.address.toLowerCase()],
    );
  });
  afterEach(async () => {
    await client.query('ROLLBACK');
  });

  it.each([
    [
      'deposits that expire',
      'SELECT',
      `UPDATE transactions SET status = 'EXPIRED' WHERE id IN (
         SELECT id FROM transactions WHERE status = 'PENDING' LIMIT $1)`,
    ],
    [
      'submitted hashes that change',
      `INSERT INTO submissions (transaction_id, account, hash, at, check_at, known)
       SELECT id, account, '0x' || repeat('a', 64), now(), now(), false FROM transactions WHERE status = 'PENDING'`,
      `UPDATE submissions SET hash = '0x' || repeat('b', 64) WHERE transaction_id IN (
         SELECT transaction_id FROM submissions WHERE hash = '0x' || repeat('a', 64) LIMIT $1)`,
    ],
    [
      'events of a draw that take effect',
      `INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, draw_id,
         account, amount)
       SELECT 100, n, '0x' || repeat('a', 64), now(), '0x' || repeat('b', 64), '0x' || repeat('c', 40), n,
         'TicketsIssued', 1, '0x' || repeat('d', 40), 5 FROM generate_series(1, ${COUNT}) n`,
      `UPDATE chain_events SET outcome = 'APPLIED' WHERE log_index IN (
         SELECT log_index FROM chain_events WHERE block_number = 100 AND outcome = 'WAITING' LIMIT $1)`,
    ],
  ])('%s', async (_, before, change) => {
    await client.query(before);
    const nodes = await planNodes(client);
    for (const count of [1, COUNT - 1]) {
      nodes.length = 0;
      expect((await client.query(change, [count])).rowCount).toBe(count);
    }
    const rows = nodes.map(
      (node) => (node['Actual Rows'] + (node['Rows Removed by Join Filter'] ?? 0)) * node['Actual Loops'],
    );
    expect(rows).toContain(COUNT - 1);
    // A plan that compares each row with all others looks at 998,001 pairs.
    expect(Math.max(...rows)).toBeLessThanOrEqual(10 * COUNT);
  });
});
