import fc from 'fast-check';
import { type SignedIn, useApp } from '../support/app';
import { TYPES, type World, lookUpOnly, oracle, worldOf } from '../support/lists';
import { differences } from '../support/recount';

const app = useApp();
const { addRows, newWorld } = worldOf(app);

const read = async (
  user: SignedIn,
  query: string,
): Promise<{ ids: string[]; total: number; status: number }> => {
  const { status, body } = await app.get(`/transactions?${query}`, user);
  if (status !== 200) return { ids: [], total: -1, status };
  return {
    ids: (body.data as { id: string }[]).map(({ id }) => id),
    total: body.pagination.total as number,
    status,
  };
};

async function check(world: World, pages: [page: number, limit: number][]): Promise<void> {
  for (const [index, user] of world.users.entries()) {
    for (const type of [undefined, ...TYPES]) {
      const suffix = type ? `&type=${type}` : '';
      const all = oracle(world, index, { type });
      for (const [page, limit] of pages) {
        const { ids, total } = await read(user, `page=${page}&limit=${limit}${suffix}`);
        expect({ ids, total }).toEqual({
          ids: all.slice((page - 1) * limit, page * limit),
          total: all.length,
        });
      }
      for (const { id, owner, members } of world.pools) {
        const part = oracle(world, index, { type, poolId: id });
        const { ids, total, status } = await read(user, `poolId=${id}&page=2&limit=3${suffix}`);
        const readable =
          owner === index || members.includes(index) || oracle(world, index, { poolId: id }).length > 0;
        expect(status).toBe(readable ? 200 : 403);
        if (readable) expect({ ids, total }).toEqual({ ids: part.slice(3, 6), total: part.length });
      }
    }
  }
}

const plan = fc.record({ owner: fc.nat(3), members: fc.subarray([0, 1, 2, 3]) });

it('a list has what its caller owns, is a member of, or paid, each once, newest first', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 150 }),
      fc.array(fc.record({ pool: fc.nat(7), user: fc.nat(3) }), { maxLength: 6 }),
      fc.constantFrom(1, 3, 32),
      async (plans, picks, leaving, few) => {
        await lookUpOnly(app, few);
        const world = await newWorld(plans);
        const half = picks.length >> 1;
        await addRows(world, picks.slice(0, half), 6, true);
        for (const { pool, user } of leaving) {
          const left = world.pools[pool];
          if (!left?.members.includes(user)) continue;
          await app.sql('DELETE FROM pool_members WHERE pool_id = $1 AND address = $2', [
            left.id,
            world.users[user].address,
          ]);
          left.members = left.members.filter((member) => member !== user);
        }
        await addRows(world, picks.slice(half), 6, true);
        await check(world, [
          [1, 20],
          [2, 7],
          [1, 1],
          [40, 2],
          [2_147_483_647, 100],
        ]);
      },
    ),
    { numRuns: 3, endOnFailure: true },
  );
  expect(await differences(app)).toEqual([]);
});

it('rows that share a moment stand in the order of their ids everywhere', async () => {
  const user = await app.signIn();
  const { id: poolId } = await app.createPool(user);
  const at = new Date(Date.now() + 60_000);
  // Like ids of chain events: time in milliseconds, block, log. Written in another order.
  const stamp = at.getTime().toString(16).padStart(12, '0');
  const ids = Array.from({ length: 40 }, (_, i) => {
    const place = (900_000 + (i >> 3)).toString(16).padStart(10, '0') + (i & 7).toString(16).padStart(6, '0');
    const hex = `${stamp}7${place.slice(0, 3)}8${place.slice(3).padEnd(15, '0')}`;
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  });
  const order = fc.sample(fc.shuffledSubarray(ids, { minLength: ids.length }), { numRuns: 1, seed: 3 })[0];
  for (const [n, id] of order.entries())
    await app.sql(
      `INSERT INTO transactions (id, pool_id, type, status, account, amount, tx_hash, block_number, log_index, created_at,
         owner_id, by_owner)
       VALUES ($1, $2, 'DEPOSIT', 'CONFIRMED', $3, 1, $4, 1, 0, $5, $6, true)`,
      [id, poolId, user.address, `0x${n}`, at, user.user.id],
    );
  const newest = [...ids].reverse();
  const of = (rows: { id: string }[]): string[] => rows.map(({ id }) => id);
  expect((await read(user, 'limit=40')).ids).toEqual(newest);
  expect((await read(user, `limit=40&poolId=${poolId}`)).ids).toEqual(newest);
  const { transactions } = (await app.get(`/pools/${poolId}`, user)).body.data;
  expect(of(transactions as { id: string }[]).slice(0, 40)).toEqual(newest);
  const [{ recentTransactions }] = (await app.get('/pools', user)).body.data;
  expect(of(recentTransactions as { id: string }[])).toEqual(newest.slice(0, 10));
});
