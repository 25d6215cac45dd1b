import type { Client } from 'pg';
import { valuesOf } from '#platform/postgres/statement';
import { USER_ANALYTICS } from '#features/analytics/analytics.sql';
import { LIST_POOLS } from '#features/pools/pools.sql';
import { CONTRACTS, type SignedIn, TEN, until, useApp } from '../support/app';
import {
  INSERT_ROW,
  IS_BLOCKED,
  accrue,
  addTransaction,
  connectAs,
  ledgerRow,
  rowValues,
} from '../support/ledger';
import { differences } from '../support/recount';
import { pagesOf, planOf } from '../support/plans';

const app = useApp();
let owner: SignedIn;
beforeAll(async () => {
  owner = await app.signIn();
});
afterEach(async () => expect(await differences(app)).toEqual([]));

const analytics = async (as: SignedIn): Promise<any> => (await app.get('/analytics/user', as)).body.data;

it('follow what happens to pools: made, emptied, filled again, taken back, with yield', async () => {
  const user = await app.signIn();
  const seen = async (): Promise<unknown[]> => {
    const { activePoolsCount, totalYield, averageAPR } = await analytics(user);
    const { pagination } = (await app.get('/pools?type=lottery', user)).body;
    const { poolCount } = (await app.get('/users/me', user)).body.data;
    return [poolCount, pagination.total, activePoolsCount, totalYield, averageAPR];
  };
  expect(await seen()).toEqual([0, 0, 0, '0', 0]);
  const { id: poolId } = await app.createPool(user, { type: 'lottery' });
  await app.createPool(user, { type: 'rotating' });
  expect(await seen()).toEqual([2, 1, 2, '0', 0]);
  const account = user.address;
  await addTransaction(app, { poolId, account, type: 'WITHDRAWAL', amount: TEN });
  expect(await seen()).toEqual([2, 1, 1, '0', 0]);
  const again = await addTransaction(app, { poolId, account, amount: '1' });
  expect(await seen()).toEqual([2, 1, 2, '0', 0]);
  await app.sql('DELETE FROM transactions WHERE id = $1', [again.id]);
  expect(await seen()).toEqual([2, 1, 1, '0', 0]);
  await accrue(app, poolId, '70', 300);
  expect(await seen()).toEqual([2, 1, 1, '70', 1.5]);
  await app.sql('DELETE FROM yield_accruals WHERE pool_id = $1', [poolId]);
  expect(await seen()).toEqual([2, 1, 1, '0', 0]);
});

describe('locks', () => {
  const connect = (application: string): Promise<Client> => connectAs(app, application);

  /** Whether the statement, once it waits for the owner's day, holds his sums already. */
  async function holdsSums(text: string, values: unknown[]): Promise<boolean> {
    const [holder, writer, other] = await Promise.all(['x', 'writer', 'x'].map(connect));
    const { rows } = await writer.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await holder.query('BEGIN');
    await holder.query('SELECT FROM account_days WHERE address = $1 AND writer = 1 FOR UPDATE', [
      owner.address,
    ]);
    const waiting = writer.query(text, values);
    await until(async () => (await app.sql(IS_BLOCKED, [rows[0].pid])).length > 0);
    const free = await other.query(
      `SELECT FROM owner_totals WHERE owner_id = $1 AND type = 'cooperative' AND writer = 1 FOR UPDATE SKIP LOCKED`,
      [owner.user.id],
    );
    await holder.query('COMMIT');
    await waiting;
    return free.rows.length === 0;
  }

  it('are taken in one order, by POST /pools and by triggers: his sums, then his days', async () => {
    const { id: poolId } = await app.createPool(owner, { type: 'cooperative' });
    const row = ledgerRow({ poolId, account: owner.address, type: 'WITHDRAWAL', amount: TEN });
    expect(await holdsSums(INSERT_ROW, rowValues(row))).toBe(true);
    const create = `INSERT INTO new_pools
       SELECT ARRAY[gen_random_uuid()], ARRAY['cooperative'], ARRAY[$1::uuid], ARRAY[$2], '{false}', ARRAY['{}'],
         ARRAY[now()], ARRAY[$3], ARRAY[gen_random_uuid()], ARRAY[1::numeric]`;
    expect(await holdsSums(create, [owner.user.id, CONTRACTS.cooperative, owner.address])).toBe(true);
  });
});

describe('reading costs the same however many pools the caller owns', () => {
  let light: SignedIn;
  let heavy: SignedIn;
  beforeAll(async () => {
    [light, heavy] = [await app.signIn(), await app.signIn()];
    for (const [user, pools] of [
      [light, 25],
      [heavy, 3000],
    ] as const)
      await app.sql(
        `INSERT INTO new_pools
         SELECT array_agg(gen_random_uuid()), array_agg('lottery'::text), array_agg($1::uuid), array_agg($2::text),
           array_agg(false), array_agg('{}'::text), array_agg(now()), array_agg($3::text),
           array_agg(gen_random_uuid()), array_agg(1::numeric) FROM generate_series(1, $4::int)`,
        [user.user.id, CONTRACTS.lottery, user.address, pools],
      );
    await app.sql('VACUUM ANALYZE');
  });

  /** Pages of PostgreSQL's cache that the statement reads. */
  const pages = async (text: string, values: unknown[]): Promise<number> =>
    pagesOf((await planOf((...query) => app.sql(...query), text, values))[0]);
  /** On one connection, which has its catalogue by then: the first reading counts that as well. */
  const ofBoth = async (read: (user: SignedIn) => Promise<number>): Promise<number[]> => {
    await read(heavy);
    return [await read(light), await read(heavy)];
  };

  it('GET /analytics/user', async () => {
    const [few, many] = await ofBoth(({ user }) =>
      pages(USER_ANALYTICS.text, valuesOf(USER_ANALYTICS, { user: user.id })),
    );
    // So few that the layout of the tables shows.
    expect(many).toBeLessThanOrEqual(few + 5);
    expect((await analytics(heavy)).activePoolsCount).toBe(3000);
  });

  it.each([null, 'lottery' as const])('GET /pools of type %s', async (type) => {
    const [few, many] = await ofBoth(({ address: caller }) =>
      pages(LIST_POOLS.text, valuesOf(LIST_POOLS, { caller, type, limit: 20, offset: 0, after: null })),
    );
    expect(many).toBeLessThanOrEqual(1.5 * few);
    expect((await app.get(`/pools${type ? `?type=${type}` : ''}`, heavy)).body.pagination.total).toBe(3000);
  });
});
