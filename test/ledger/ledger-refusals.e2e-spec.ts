import { v7 as uuidv7 } from 'uuid';
import { Pool } from '#features/pools/pool.entity';
import { CONTRACTS, type SignedIn, useApp } from '../support/app';
import { migrationSource } from '../support/database';
import { REPAIRING, accrue, addTransaction, ledgerRow } from '../support/ledger';
import { differences } from '../support/recount';

const app = useApp();
let owner: SignedIn;
let other: SignedIn;
let poolId: string;

beforeAll(async () => {
  [owner, other] = [await app.signIn(), await app.signIn()];
  poolId = (await app.createPool(owner, { members: [other.address] })).id;
  await app.createPool(other);
  await addTransaction(app, { poolId, account: other.address });
  await accrue(app, poolId, '5', 300);
});

const DERIVED = ['balance', 'pending_balance', 'total_yield', 'claimed_yield', 'apr_bps', 'member_count'];
const COUNTS = ['deposit_count', 'withdrawal_count', 'claim_count'];
const NEWEST = ['last_deposit_id', 'last_withdrawal_id', 'last_claim_id', 'last_claimed_at'];

describe('the database refuses what totals would not follow', () => {
  const TABLES = [
    ...['pools', 'pool_members', 'transactions', 'yield_accruals', 'account_days', 'owner_totals'],
    ...['pool_totals', 'member_streams', 'member_counts'],
  ];
  it.each([
    ...['id = gen_random_uuid()', `type = 'YIELD_CLAIM'`, 'account = account', 'created_at = now()'].map(
      (change) => `UPDATE transactions SET ${change}`,
    ),
    `UPDATE transactions SET pool_id = (SELECT id FROM pools WHERE id <> pool_id LIMIT 1)`,
    `UPDATE transactions SET owner_id = gen_random_uuid()`,
    `UPDATE transactions SET by_owner = NOT by_owner`,
    ...['amount = 7', 'pool_id = pool_id', 'block_number = 9'].map((s) => `UPDATE yield_accruals SET ${s}`),
    ...['address', 'role', 'type', 'pool_id'].map(
      (column) => `UPDATE pool_members SET ${column} = ${column}`,
    ),
    ...['id', 'type', 'owner_id', 'contract_address', 'created_at'].map(
      (column) => `UPDATE pools SET ${column} = ${column}`,
    ),
    ...[...DERIVED, ...COUNTS, ...NEWEST].map((column) => `UPDATE pools SET ${column} = ${column}`),
    'UPDATE account_days SET deposited = 0',
    'DELETE FROM account_days',
    `INSERT INTO account_days (address, day, contract, writer) SELECT address, '2000-01-01', address, 1 FROM users`,
    'UPDATE member_counts SET count = 0',
    'DELETE FROM member_counts',
    `INSERT INTO member_counts (address, type, writer) VALUES ('', 'lottery', 1)`,
    'UPDATE member_streams SET last_id = first_id',
    'DELETE FROM member_streams',
    `INSERT INTO member_streams SELECT id, '', '', '', id, id FROM pools`,
    'UPDATE pool_members SET indexed = true',
    'UPDATE owner_totals SET active = active',
    'DELETE FROM owner_totals',
    `INSERT INTO owner_totals (owner_id, type, contract, writer) SELECT id, 'lottery', address, 1 FROM users`,
    'UPDATE pool_totals SET pools = 0',
    'DELETE FROM pool_totals',
    `INSERT INTO pool_totals (shard, type, contract) VALUES (99, 'lottery', '')`,
    ...TABLES.map((table) => `TRUNCATE ${table} CASCADE`),
    `UPDATE users SET address = '0x${'9'.repeat(40)}'`,
    `DELETE FROM pool_members WHERE role = 'OWNER'`,
    'DELETE FROM pools',
  ])('%s', async (statement) => {
    await expect(app.sql(statement)).rejects.toMatchObject({ code: expect.stringMatching(/^23/) });
  });

  it('lets the settings of a pool be changed, and the gas of a transaction', async () => {
    await app.sql('UPDATE pools SET auto_compound = NOT auto_compound');
    await app.sql('UPDATE transactions SET gas_used = 21000, gas_price = 7');
  });

  it('a pool that was read before a deposit does not overwrite what the deposit did', async () => {
    const source = await migrationSource(app.database.url);
    try {
      const pools = source.getRepository(Pool);
      const stale = await pools.findOneByOrFail({ id: poolId });
      stale.balance = '1';
      await expect(pools.save(stale)).rejects.toThrow('derived from the ledger');
      const fresh = await pools.findOneByOrFail({ id: poolId });
      fresh.autoCompound = !fresh.autoCompound;
      await pools.save(fresh);
    } finally {
      await source.destroy();
    }
  });

  it('a new pool with a derived column of its own', async () => {
    const derived = await app.sql(
      `SELECT attname AS column, CASE format_type(atttypid, NULL) WHEN 'uuid' THEN 'gen_random_uuid()'
         WHEN 'timestamp with time zone' THEN 'now()' ELSE '1' END AS value
       FROM pg_trigger g JOIN pg_attribute a ON a.attrelid = g.tgrelid AND a.attnum = ANY (g.tgattr)
       WHERE tgname = 'pools_derived'`,
    );
    expect(derived).not.toEqual([]);
    for (const { column, value } of derived)
      await expect(
        app.sql(
          `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update, ${column})
           VALUES ($1, 'lottery', $2, $3, now(), now(), ${value})`,
          [uuidv7(), owner.user.id, CONTRACTS.lottery],
        ),
      ).rejects.toThrow('derived columns');
  });

  it('a client that claims to be create_pools', async () => {
    const row = ledgerRow({ poolId, account: owner.address });
    await app.sql(`BEGIN; SET LOCAL savings.creating = on;
      INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, created_at)
      VALUES ('${row.id}', '${poolId}', '${owner.user.id}', true, 'DEPOSIT', 'PENDING', '${owner.address}', 5, now()); COMMIT`);
    // It has no effect: the totals count the row.
    expect((await app.sql('SELECT FROM transactions WHERE id = $1', [row.id])).length).toBe(1);
    expect(await differences(app)).toEqual([]);
  });
});

it('repairing derived data cannot change an address', async () => {
  await expect(
    app.sql(`${REPAIRING}; UPDATE users SET address = '0x${'9'.repeat(40)}'`),
  ).rejects.toMatchObject({ code: '23001' });
});

describe('the database refuses a value that is none of its kind', () => {
  const pool = (type: string, contract: string): string =>
    `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
     SELECT gen_random_uuid(), '${type}', id, '${contract}', now(), now() FROM users LIMIT 1`;
  const member = (address: string, role: string, type: string): string =>
    `INSERT INTO pool_members SELECT id, '${address}', '${role}', '${type}' FROM pools LIMIT 1`;
  const transaction = (type: string, status: string, account: string, amount: string): string =>
    `INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, created_at)
     SELECT gen_random_uuid(), id, owner_id, false, '${type}', '${status}', '${account}', ${amount}, now() FROM pools LIMIT 1`;
  const accrual = (amount: string): string =>
    `INSERT INTO yield_accruals SELECT 99, 1, id, ${amount}, 1, now() FROM pools LIMIT 1`;
  const address = `0x${'8'.repeat(40)}`;

  it.each([
    `INSERT INTO users VALUES (gen_random_uuid(), '0x12', now())`,
    pool('savings', CONTRACTS.lottery),
    pool('lottery', '0x12'),
    member('0x12', 'MEMBER', 'lottery'),
    member(address, 'GUEST', 'lottery'),
    member(address, 'MEMBER', 'savings'),
    transaction('GIFT', 'PENDING', address, '5'),
    transaction('DEPOSIT', 'GONE', address, '5'),
    transaction('DEPOSIT', 'PENDING', address.toUpperCase(), '5'),
    transaction('DEPOSIT', 'PENDING', address, '-1'),
    transaction('WITHDRAWAL', 'PENDING', address, '10 ^ 70'),
    transaction('YIELD_CLAIM', 'CONFIRMED', address, '5'),
    accrual('-1'),
  ])('%s', async (statement) => {
    await expect(app.sql(statement)).rejects.toMatchObject({ code: '23514' });
  });

  it.each([transaction('DEPOSIT', 'PENDING', address, '10 ^ 78'), accrual('10 ^ 78')])(
    '%s',
    async (statement) => {
      await expect(app.sql(statement)).rejects.toMatchObject({ code: '22003' });
    },
  );
});

describe('a transaction that says whose pool it is must be right', () => {
  const insert = `INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, created_at)
    VALUES ($1, $2, $3, $4, 'DEPOSIT', 'PENDING', $5, 5, now())`;
  it.each([
    ['another owner', () => [poolId, other.user.id, true, other.address]],
    ['an unknown owner', () => [poolId, uuidv7(), false, other.address]],
    ['an unknown pool', () => [uuidv7(), owner.user.id, true, owner.address]],
  ])('%s', async (_what, values) => {
    await expect(app.sql(insert, [uuidv7(), ...values()])).rejects.toMatchObject({
      constraint: 'transactions_pool_id_fkey',
    });
  });

  it('a pool without transactions can be removed', async () => {
    const { id } = await app.createPool(owner, { members: [other.address] });
    await app.sql('DELETE FROM transactions WHERE pool_id = $1', [id]);
    await app.sql('DELETE FROM pools WHERE id = $1', [id]);
    expect(await app.sql('SELECT FROM pool_members WHERE pool_id = $1', [id])).toEqual([]);
  });
});

it('has left all totals right', async () => expect(await differences(app)).toEqual([]));
