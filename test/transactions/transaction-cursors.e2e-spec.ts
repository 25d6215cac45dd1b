import fc from 'fast-check';
import { type SignedIn, useApp } from '../support/app';
import { addTransaction } from '../support/ledger';
import { DAY, type Filter, TYPES, type World, lookUpOnly, oracle, worldOf } from '../support/lists';

const app = useApp();
const { addRows, newWorld } = worldOf(app);

type Query = Filter & { order?: 'asc' | 'desc' };
const STATUSES = ['PENDING', 'CONFIRMED', 'EXPIRED'] as const;

const textOf = (query: Record<string, unknown>): string =>
  new URLSearchParams(
    Object.entries(query)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [
        name,
        value instanceof Date ? value.toISOString() : String(value),
      ]),
  ).toString();

/** Ids of every page from the first on, by cursor; `between` runs before each page but the first. */
async function walk(
  user: SignedIn,
  query: Query,
  limit: number,
  between: () => Promise<unknown> = async () => undefined,
): Promise<string[]> {
  const seen: string[] = [];
  let after: string | undefined;
  for (;;) {
    const text = textOf({ ...query, order: query.order ?? 'desc', limit, after });
    const { status, body } = await app.get(`/transactions?${text}`, user);
    expect([status, Object.keys(body as object)]).toEqual([200, ['success', 'data', 'next']]);
    const ids = (body.data as { id: string }[]).map(({ id }) => id);
    seen.push(...ids);
    if (body.next === null) return seen;
    expect(ids).toHaveLength(limit);
    after = body.next as string;
    await between();
  }
}

const expected = (world: World, user: number, { order, ...filter }: Query): string[] => {
  const ids = oracle(world, user, filter);
  return order === 'asc' ? ids.reverse() : ids;
};

const plan = fc.record({ owner: fc.nat(3), members: fc.subarray([0, 1, 2, 3]) });
const midnight = Math.floor(Date.now() / DAY) * DAY;
const time = fc.integer({ min: -7 * 24, max: 24 }).map((hours) => new Date(midnight + hours * 3_600_000));
/** Mostly absent, as few rows pass many filters. */
const rarely = <T>(each: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(each, { nil: undefined, freq: 1 });
const query = fc.record({
  type: rarely(fc.constantFrom(...TYPES)),
  status: rarely(fc.constantFrom(...STATUSES)),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  from: rarely(time),
  to: rarely(time),
  poolId: rarely(fc.nat(7)),
});

it('a walk by cursor sees what every filter leaves, each once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 150 }),
      fc.array(fc.tuple(query, fc.nat(3), fc.integer({ min: 1, max: 12 })), { minLength: 40, maxLength: 40 }),
      fc.constantFrom(1, 3, 32),
      async (plans, picks, asked, few) => {
        await lookUpOnly(app, few);
        const world = await newWorld(plans);
        await addRows(world, picks, 6, true);
        for (const [{ poolId: pool, ...rest }, user, limit] of asked) {
          const poolId = pool === undefined ? undefined : world.pools[pool % world.pools.length].id;
          const filter: Query = { ...rest, poolId };
          if (poolId && oracle(world, user, { poolId }).length === 0) {
            const { status } = await app.get(`/transactions?order=desc&poolId=${poolId}`, world.users[user]);
            expect(status).toBe(403);
          } else expect(await walk(world.users[user], filter, limit)).toEqual(expected(world, user, filter));
        }
      },
    ),
    { numRuns: 3, endOnFailure: true },
  );
});

it('the list by cursor is the list by pages, from whichever page one goes on', async () => {
  const world = await newWorld([
    { owner: 0, members: [1] },
    { owner: 1, members: [0] },
    { owner: 2, members: [] },
  ]);
  await addRows(world, fc.sample(fc.nat(1_000_000), { numRuns: 200, seed: 5 }), 6);
  for (const suffix of ['', '&type=DEPOSIT', `&poolId=${world.pools[0].id}`]) {
    const page = (number: number) => app.get(`/transactions?limit=9&page=${number}${suffix}`, world.users[0]);
    const first = (await page(1)).body;
    for (let number = 1; number < first.pagination.pages; number++) {
      const { next } = (await page(number)).body;
      const after = await app.get(`/transactions?limit=9&after=${next}${suffix}`, world.users[0]);
      expect(after.body.data).toEqual((await page(number + 1)).body.data);
    }
    expect((await page(first.pagination.pages as number)).body.next).toBeNull();
    expect((await page(1000)).body).toMatchObject({ data: [], next: null });
  }
});

it.each(['desc', 'asc'] as const)(
  'a walk neither repeats nor passes over anything while rows are added: %s',
  async (order) => {
    await lookUpOnly(app, 1);
    const world = await newWorld([
      { owner: 0, members: [1] },
      { owner: 1, members: [0] },
      { owner: 1, members: [0] },
    ]);
    await addRows(world, fc.sample(fc.nat(1_000_000), { numRuns: 60, seed: 9 }), 3);
    const before = expected(world, 0, { order });
    let second = 0;
    const added: string[] = [];
    const seen = await walk(world.users[0], { order }, 7, async () => {
      const row = await addTransaction(app, {
        poolId: world.pools[second % 3].id,
        account: world.users[0].address,
        createdAt: new Date(Date.now() + ++second * 1000),
      });
      added.push(row.id);
    });
    // Newer ones are ahead of a walk from the oldest on, and behind one from the newest on.
    expect(seen).toEqual(order === 'asc' ? [...before, ...added] : before);
    expect(added.length).toBeGreaterThan(5);
  },
);

describe('the query', () => {
  let user: SignedIn;
  beforeAll(async () => {
    user = await app.signIn();
    await app.createPool(user);
  });

  it.each(['status=PENDING', 'from=2026-01-01', 'to=2100-01-01T00:00:00Z', 'order=desc', 'order=asc'])(
    '?%s is by cursor: without pagination, and page is refused',
    async (text) => {
      const { status, body } = await app.get(`/transactions?${text}`, user);
      expect([status, Object.keys(body as object), body.next]).toEqual([
        200,
        ['success', 'data', 'next'],
        null,
      ]);
      expect(body.data).toHaveLength(1);
      const refused = await app.get(`/transactions?page=1&${text}`, user);
      expect(refused.status).toBe(400);
      expect(refused.body.details).toEqual([
        { field: 'page', message: `cannot be given with \`${text.split('=')[0]}\`` },
      ]);
    },
  );

  it('takes `from` as inclusive, `to` as exclusive, to the millisecond, in any zone', async () => {
    const at = new Date('2026-03-01T12:00:00.500Z');
    const pool = await app.createPool(user);
    const row = await addTransaction(app, { poolId: pool.id, account: user.address, createdAt: at });
    const found = async (query: string): Promise<boolean> =>
      ((await app.get(`/transactions?poolId=${pool.id}&${query}`, user)).body.data as { id: string }[]).some(
        ({ id }) => id === row.id,
      );
    for (const [text, inside] of [
      ['from=2026-03-01T12:00:00.500Z', true],
      ['from=2026-03-01T12:00:00.500001Z', false],
      ['to=2026-03-01T12:00:00.500Z', false],
      ['to=2026-03-01T12:00:00.500001Z', true],
      ['from=2026-03-01T14:00:00.5%2B02:00', true],
      ['from=2026-03-01T11:00-02:00', false],
      ['from=2026-03-01&to=2026-03-02', true],
      ['from=0001-01-01&to=9999-12-31', true],
      ['from=2026-03-02&to=2026-03-01', false],
    ] as const)
      expect([text, await found(text)]).toEqual([text, inside]);
  });
});
