import { Database } from '#platform/database/database';
import { type TypedStatement, valuesOf } from '#platform/postgres/statement';
import { POOL_ANALYTICS } from '#features/analytics/analytics.sql';
import { type SignedIn, useApp } from '../../support/app';
import { ledgerRow } from '../../support/ledger';
import { pagesOf, planOf } from '../../support/plans';

const FEW = 100;
const MANY = 10_000;
const DAYS = 200;
const DAY_MS = 86_400_000;
const app = useApp();

interface Owned {
  owner: SignedIn;
  pool: string;
}

/** A pool into which strangers have paid so often, over many days, some of them from an account of their own each. */
async function besieged(payments: number): Promise<Owned> {
  const owner = await app.signIn();
  const { id: pool } = (await app.createPool(owner)) as { id: string };
  const rows = Array.from({ length: payments }, (_, i) => {
    const account = `0x${(i % (payments / 2)).toString(16).padStart(40, 'd')}`;
    const createdAt = new Date(Date.now() - 3600_000 - DAYS * DAY_MS * (1 - i / payments));
    return ledgerRow({ poolId: pool, account, createdAt });
  });
  await app.sql(
    `INSERT INTO transactions (id, pool_id, type, status, account, amount, tx_hash, block_number, log_index, created_at, confirmed_at,
       owner_id, by_owner)
     SELECT (r ->> 'id')::uuid, $1, 'DEPOSIT', 'CONFIRMED', r ->> 'account', 1000, r ->> 'txHash', (r ->> 'blockNumber')::bigint, 0,
       (r ->> 'createdAt')::timestamptz, (r ->> 'createdAt')::timestamptz, $3, false FROM json_array_elements($2) r`,
    [pool, JSON.stringify(rows), owner.user.id],
  );
  await app.sql(
    `INSERT INTO positions SELECT $1, a, 1000 * count(*), 0, 0, 0, 1000 * count(*), 0, 0
     FROM json_array_elements_text($2) a GROUP BY a`,
    [pool, JSON.stringify(rows.map(({ account }) => account))],
  );
  return { owner, pool };
}

let few: Owned;
let many: Owned;
beforeAll(async () => {
  few = await besieged(FEW);
  many = await besieged(MANY);
  await app.sql('VACUUM ANALYZE');
});

/** Pages of PostgreSQL's cache that the reads of a request touch, and how long its answer is. */
async function costOf(path: string, { owner, pool }: Owned): Promise<{ pages: number; length: number }> {
  const reads = jest.spyOn(app.nest.get(Database), 'readAll');
  const { status, body } = await app.get(path.replace(':pool', pool), owner);
  const calls = [...reads.mock.calls] as [TypedStatement<object, object>, object][];
  reads.mockRestore();
  expect([path, status]).toEqual([path, 200]);
  let pages = 0;
  for (const [statement, values] of calls) {
    // Others are the process's own.
    if (statement.payer === undefined && statement.name !== POOL_ANALYTICS.name) continue;
    const [whole] = await planOf(
      (...query) => app.sql(...query),
      statement.text,
      valuesOf(statement, values),
    );
    pages += pagesOf(whole);
  }
  return { pages, length: JSON.stringify(body).length };
}

const from = new Date(Date.now() - 100 * DAY_MS).toISOString();
it.each([
  '/pools',
  '/pools/:pool',
  '/pools/:pool/yield',
  '/pools/:pool/position',
  '/users/me/positions',
  '/transactions?page=3',
  '/transactions',
  '/transactions?poolId=:pool',
  '/transactions?poolId=:pool&type=DEPOSIT&status=CONFIRMED',
  '/transactions?type=WITHDRAWAL',
  `/transactions?poolId=:pool&from=${from}`,
  '/transactions?order=asc',
  '/analytics/pools',
  '/analytics/user',
  '/users/me/start',
])('what strangers pay into a pool makes no read of its owner longer or more expensive: %s', async (path) => {
  const [light, heavy] = [await costOf(path, few), await costOf(path, many)];
  expect(light.pages).toBeGreaterThan(0);
  expect(heavy.pages).toBeLessThanOrEqual(2 * light.pages);
  expect(heavy.length).toBeLessThan(light.length + 100);
});
