import { CONTRACTS, TEN, type SignedIn, type TestApp, useApp } from '../support/app';
import { newWallet } from '../support/wallet';

const app = useApp();
let user: SignedIn;

beforeAll(async () => {
  user = await app.signIn();
});

const body = {
  type: 'cooperative',
  initialDeposit: TEN,
  members: [newWallet().address, newWallet().address],
};
let lastKey = 0;
const newKey = (): string => `key-${++lastKey}`;
const create = (key: string, fields: Record<string, unknown> = {}, as = user) =>
  app.post('/pools', { ...body, ...fields }, as, { 'idempotency-key': key });
const total = async (as = user): Promise<number> =>
  (await app.get('/pools', as)).body.pagination.total as number;
const age = (key: string, hours: number) =>
  app.sql('UPDATE idempotency_keys SET created_at = now() - make_interval(hours => $2) WHERE key = $1', [
    key,
    hours,
  ]);

it('the same key and body replays the first answer and creates nothing', async () => {
  const key = newKey();
  const first = await create(key);
  expect(first.status).toBe(201);
  const before = await total();
  for (let i = 0; i < 3; i++) {
    const again = await create(key);
    expect([again.status, again.body]).toEqual([201, first.body]);
  }
  expect(await total()).toBe(before);
});

it('the same request written differently is the same request', async () => {
  const key = newKey();
  const first = await create(key);
  const [one, two] = body.members;
  for (const same of [
    { initialDeposit: `00${TEN}` },
    { autoCompound: false },
    { members: [two, one] },
    { members: [one.toLowerCase(), two, one, user.address] },
    { unknown: 1 },
    { contract: null, autoCompound: null },
  ])
    expect((await create(key, same)).body).toEqual(first.body);
  const prefixed = await app.post('/api/pools', body, user, { 'idempotency-key': key });
  expect(prefixed.body).toEqual(first.body);
});

it('the same key with another body is 422', async () => {
  const key = newKey();
  await create(key);
  const before = await total();
  for (const other of [
    { type: 'rotating' },
    { initialDeposit: '10000000000000000001' },
    { autoCompound: true },
    { members: [] },
    { members: [...body.members, newWallet().address] },
  ]) {
    const answer = await create(key, other);
    expect(answer.status).toBe(422);
    expect(answer.body).toEqual({
      success: false,
      error: 'Idempotency-Key was used for another request',
      code: 'idempotency_key_reused',
    });
  }
  expect(await total()).toBe(before);
});

it('other keys, other users and no key are other requests', async () => {
  const key = newKey();
  const other = await app.signIn();
  const ids = new Set<string>();
  const first = await create(key);
  const theirs = await create(key, {}, other);
  for (const answer of [
    first,
    theirs,
    await create(newKey()),
    await app.post('/pools', body, user),
    await app.post('/pools', body, user),
  ])
    ids.add(answer.body.data.id as string);
  expect(ids.size).toBe(5);
  expect((await create(key, {}, other)).body).toEqual(theirs.body);
});

it('a refused request leaves the key free', async () => {
  const key = newKey();
  expect((await create(key, { initialDeposit: '1' })).status).toBe(400);
  expect((await create(key, { type: 'x' })).status).toBe(400);
  expect((await create(key)).status).toBe(201);
});

describe('after a change of settings that refuses new pools as the first', () => {
  const old = Object.entries(CONTRACTS).map((pair) => pair.join('='));
  let other: TestApp['nest'];
  const createThere = async (key: string | undefined, fields: object = {}) => {
    const answer = await other.inject({
      method: 'POST',
      url: '/pools',
      payload: { ...body, ...fields },
      headers: { authorization: `Bearer ${user.token}`, ...(key && { 'idempotency-key': key }) },
    });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };

  it.each<[string, string, Record<string, string>, Record<string, unknown>]>([
    ['a higher minimum', 'deposit_below_minimum', { MIN_DEPOSIT: `${TEN}0` }, {}],
    [
      'a newer contract instead of the requested one',
      'validation_failed',
      { POOL_CONTRACTS: [...old, `cooperative=0x${'d'.repeat(40)}`].join() },
      { contract: CONTRACTS.cooperative },
    ],
  ])('with %s the first answer comes again, and only that', async (_, code, overrides, fields) => {
    const [key, unused] = [newKey(), newKey()];
    const first = await create(key, fields);
    expect(first.status).toBe(201);
    other = await app.replica(overrides);
    const before = await total();
    expect(await createThere(key, fields)).toEqual({ status: 201, body: first.body });
    expect((await createThere(key, { ...fields, autoCompound: true })).body.code).toBe(
      'idempotency_key_reused',
    );
    for (const free of [undefined, unused])
      expect(await createThere(free, fields)).toMatchObject({ status: 400, body: { code } });
    await age(key, 25);
    expect(await createThere(key, fields)).toMatchObject({ status: 400, body: { code } });
    expect(await total()).toBe(before);
  });
});

it('while the first request is running the second is 409', async () => {
  const key = newKey();
  await app.whileUnderWay(user, key, async () => {
    const answer = await create(key);
    expect([answer.status, answer.body.error]).toEqual([
      409,
      'A request with this Idempotency-Key is still running',
    ]);
    expect((await create(newKey())).status).toBe(201);
  });
  expect((await create(key)).status).toBe(201);
});

it('a key is remembered for 24 hours', async () => {
  const key = newKey();
  const first = await create(key);
  await age(key, 23);
  expect((await create(key)).body).toEqual(first.body);
  await age(key, 25);
  const second = await create(key, { type: 'rotating' });
  expect(second.status).toBe(201);
  expect(second.body.data.id).not.toBe(first.body.data.id);
  expect((await create(key, { type: 'rotating' })).body).toEqual(second.body);
  expect((await create(key)).status).toBe(422);
});

it.each([' ', 'a b', 'é', 'x'.repeat(256), ''])(
  'is refused unless it is 1 to 255 visible ASCII characters: %j',
  async (key) => {
    const before = await total();
    const answer = await create(key);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      error: 'Validation failed',
      details: [{ field: 'Idempotency-Key' }],
    });
    expect(await total()).toBe(before);
  },
);

it('may be 255 characters of any visible kind', async () => {
  const key = `"${'~!'.repeat(126)}\\"`;
  expect(key).toHaveLength(255);
  const first = await create(key);
  expect(first.status).toBe(201);
  expect((await create(key)).body).toEqual(first.body);
});
