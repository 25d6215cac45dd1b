import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { type SignedIn, until, useApp } from '../support/app';
import { migrationSource } from '../support/database';
import { accrue, addTransaction } from '../support/ledger';
import { differences } from '../support/recount';

const SCRIPT = readFileSync(join(__dirname, '../../deploy/partitions/transactions.sql'), 'utf8');
const DAY_MS = 86_400_000;
/** Kept, so that midnight changes nothing. */
const TODAY = Math.floor(Date.now() / DAY_MS);
const TYPES = ['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'] as const;

const app = useApp();
let users: SignedIn[];
let operator: Client;

/** Midnight, as an operator would choose it. */
const inDays = (days: number): Date => new Date((TODAY + days) * DAY_MS);
const split = (at: Date): Promise<unknown> =>
  operator.query(`CALL split_transactions('${at.toISOString()}')`);

/** Payments on many days by owner, member and outsider into their pools. */
async function fill(days: number[]): Promise<void> {
  for (const owner of users) {
    const { id: poolId } = await app.createPool(owner, { members: [users[1].address] });
    for (const day of days)
      for (const [i, type] of TYPES.entries())
        await addTransaction(app, {
          poolId: poolId as string,
          type,
          account: users[(day + i + 30) % 3].address,
          amount: type === 'DEPOSIT' ? '1000' : '10',
          createdAt: new Date(inDays(day).getTime() + i),
        });
    await accrue(app, poolId as string, '5000', 400);
  }
}

/** Everything that is answered to each user from transactions, page by page, by number and by cursor. */
async function answers(): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const user of users) {
    for (const path of ['/pools?', '/analytics/user', '/transactions?type=WITHDRAWAL&'])
      all.push((await app.get(path, user)).body);
    const { data } = (await app.get('/pools', user)).body as { data: { id: string }[] };
    for (const { id } of data) {
      all.push((await app.get(`/pools/${id}`, user)).body);
      all.push((await app.get(`/transactions?poolId=${id}&limit=5&order=asc`, user)).body);
    }
    for (const start of ['limit=7', 'limit=7&order=asc', 'limit=7&status=PENDING'])
      for (let after = ''; ;) {
        const { body } = await app.get(`/transactions?${start}${after}`, user);
        all.push(body);
        for (const { txHash } of body.data as { txHash: string | null }[])
          if (txHash) all.push((await app.get(`/transactions/${txHash}`, user)).body);
        if (body.next === null) break;
        after = `&after=${body.next}`;
      }
  }
  expect(all.every((body) => (body as { success: boolean }).success)).toBe(true);
  return all;
}

/** What belongs to the table: indexes, triggers, constraints, options, who may do what. */
const belongings = async (): Promise<unknown> =>
  app.sql(`
    SELECT 'index' AS kind, indexname AS name, replace(indexdef, ' ON ONLY ', ' ON ') AS what
    FROM pg_indexes WHERE tablename = 'transactions'
    UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger
    WHERE tgrelid = 'transactions'::regclass AND NOT tgisinternal
    UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = 'transactions'::regclass
    UNION ALL SELECT 'comment', objsubid::text, description FROM pg_description WHERE objoid = 'transactions'::regclass
    UNION ALL SELECT 'grant', grantee::text, privilege_type FROM information_schema.role_table_grants
    WHERE table_name = 'transactions'
    ORDER BY 1, 2, 3`);
const rowsOf = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await app.sql(`SELECT tableoid::regclass::text AS name, count(*)::int FROM transactions GROUP BY 1`)
    ).map(({ name, count }) => [name, count]),
  ) as Record<string, number>;
const nameOf = (boundary: Date): string =>
  `transactions_from_${boundary.toISOString().slice(0, 10).replaceAll('-', '')}`;

beforeAll(async () => {
  users = [await app.signIn(), await app.signIn(), await app.signIn()];
  await fill([-20, -2, -1]);
  await app.sql('GRANT SELECT ON transactions TO pg_monitor');
  operator = new Client({ connectionString: app.database.url });
  operator.on('error', () => undefined); // the database is dropped before this connection ends
  await operator.connect();
  await operator.query(SCRIPT);
});
afterAll(async () => {
  await operator?.end();
});

it('refuses a boundary that the clock or a row has reached, and leaves no trace', async () => {
  const before = await belongings();
  await expect(split(new Date(Date.now() + DAY_MS / 2))).rejects.toThrow('at least a day ahead');
  await addTransaction(app, {
    poolId: (await app.createPool(users[0])).id as string,
    account: users[0].address,
    createdAt: inDays(5),
  });
  await expect(split(inDays(3))).rejects.toThrow('after the boundary');
  expect(await belongings()).toEqual(before);
});

it('splits the table while pools are created, and nobody notices', async () => {
  const [before, shown] = [await belongings(), await answers()];
  // `migrate.js` leaves one like this while others read the table. It must not come to life.
  await app.sql(`CREATE TRIGGER a_former_one AFTER INSERT ON transactions EXECUTE FUNCTION refuse_write('former');
    ALTER TABLE transactions DISABLE TRIGGER a_former_one`);
  let running = true;
  const done = split(inDays(6)).finally(() => (running = false));
  const creator = await app.signIn();
  const statuses = new Set<number>();
  do {
    const pool = { type: 'individual', initialDeposit: '10000000000000000000' };
    statuses.add((await app.post('/pools', pool, creator)).status);
  } while (running);
  await done;

  expect([...statuses]).toEqual([201]);
  expect(await belongings()).toEqual(before);
  expect(await answers()).toEqual(shown);
  expect(await differences(app)).toEqual([]);
  const source = await migrationSource(app.database.url);
  const { upQueries } = await source.driver.createSchemaBuilder().log();
  await source.destroy();
  expect(upQueries.map(({ query }) => query)).toEqual([]);
});

it('a later call closes the newest partition, and rows of every time find theirs', async () => {
  await fill([-4, 7]);
  await split(inDays(9));
  await fill([-5, 8, 10, 400]);
  // An owner's payment, a claim and a withdrawal each day into three pools.
  expect(await rowsOf()).toMatchObject({ [nameOf(inDays(6))]: 18, [nameOf(inDays(9))]: 18 });
  expect(await differences(app)).toEqual([]);
  await answers();
});

it('totals follow when rows of several partitions change in one statement', async () => {
  await app.sql(`UPDATE transactions SET amount = amount + 1 WHERE type = 'DEPOSIT'`);
  expect(await differences(app)).toEqual([]);
  const counts = Object.keys(await rowsOf()).length;
  expect(counts).toBe(3);
  await app.sql(`DELETE FROM transactions WHERE type = 'YIELD_CLAIM'`);
  expect(await differences(app)).toEqual([]);
  await expect(app.sql(`UPDATE transactions SET account = account`)).rejects.toThrow('refused');
  await expect(app.sql('TRUNCATE transactions')).rejects.toThrow('refused');
});

it('waits while another session keeps the table, without keeping others waiting, and then goes through', async () => {
  const other = await app.connect();
  await other.query('BEGIN; SELECT FROM transactions LIMIT 1');
  const before = await belongings();
  const done = split(inDays(500));
  const waits = `SELECT FROM pg_stat_activity WHERE query LIKE 'CALL split%' AND wait_event IN ('relation', 'PgSleep')`;
  await until(async () => (await other.query(waits)).rowCount! > 0);
  // Others wait for the lock only as long as the attempt does.
  expect((await app.createPool(users[0])).id).toBeDefined();
  await other.query('ROLLBACK');
  await done;
  expect(await belongings()).toEqual(before);
  expect(await rowsOf()).toMatchObject({ [nameOf(inDays(9))]: 12 });
});
