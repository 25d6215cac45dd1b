import { POOL_TYPES } from '#values/types';
import { CONTRACTS, TEN, type SignedIn, useApp } from '../support/app';
import { newWallet } from '../support/wallet';

const app = useApp();
const MAX = (2n ** 256n - 1n).toString();
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
let me: SignedIn;

beforeAll(async () => {
  me = await app.signIn();
});

const create = (fields: unknown, as = me) => app.post('/pools', fields, as);
const valid = { type: 'individual', initialDeposit: TEN };
const count = async (table: string): Promise<number> =>
  (await app.sql<{ count: number }>(`SELECT count(*)::int FROM ${table}`))[0].count;

/** Expects the request to be refused with one detail for each of the fields, and to leave nothing behind. */
async function refused(body: unknown, ...fields: string[]): Promise<void> {
  const before = await count('pools');
  const answer = await create(body);
  expect(answer.status).toBe(400);
  expect(answer.body).toEqual({
    success: false,
    error: 'Validation failed',
    code: 'validation_failed',
    details: expect.any(Array),
  });
  const named = (answer.body.details as { field: string }[]).map(({ field }) => field);
  expect([...new Set(named)]).toEqual(fields);
  expect(await count('pools')).toBe(before);
}

describe('a valid request', () => {
  it.each(POOL_TYPES)('creates a pool: %s', async (type) => {
    const { status, body } = await create({ type, initialDeposit: TEN });
    expect(status).toBe(201);
    expect(body).toEqual({
      success: true,
      data: {
        id: expect.stringMatching(UUID_V7),
        type,
        contractAddress: CONTRACTS[type],
        balance: TEN,
        createdAt: expect.any(String),
        depositId: expect.stringMatching(UUID_V7),
      },
    });
    const { depositId, ...pool } = body.data as { depositId: string; id: string; createdAt: string };
    expect(Date.parse(pool.createdAt)).toBe(parseInt(pool.id.replaceAll('-', '').slice(0, 12), 16));
    const detail = await app.get(`/pools/${body.data.id}`, me);
    expect(detail.body.data).toMatchObject({ ...pool, autoCompound: false, totalYield: '0', apr: 0 });
    expect(detail.body.data.transactions[0].id).toBe(depositId);
  });

  it('gives ids that sort in the order of creation, also within a millisecond', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now());
    const ids: string[] = [];
    try {
      for (let i = 0; i < 6; i++) ids.push((await app.createPool(me)).id as string);
    } finally {
      clock.mockRestore();
    }
    expect(new Set(ids.map((id) => id.slice(0, 13))).size).toBe(1);
    expect([...ids].sort()).toEqual(ids);
  });

  it('creates nothing at all when the deposit cannot be written', async () => {
    const tables = 'pools pool_members transactions account_days owner_totals idempotency_keys'.split(' ');
    const before = await Promise.all(tables.map(count));
    await app.sql(`ALTER TABLE transactions ADD CONSTRAINT broken CHECK (amount <> 10000000000000000777)`);
    const answer = await app.post(
      '/pools',
      { ...valid, initialDeposit: '10000000000000000777', members: [newWallet().address] },
      me,
      { 'idempotency-key': 'broken' },
    );
    await app.sql('ALTER TABLE transactions DROP CONSTRAINT broken');
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({ success: false, error: 'Internal server error', code: 'internal_error' });
    expect(await Promise.all(tables.map(count))).toEqual(before);
  });

  it('keeps autoCompound', async () => {
    const pool = await app.createPool(me, { autoCompound: true });
    expect((await app.get(`/pools/${pool.id}`, me)).body.data.autoCompound).toBe(true);
  });

  it('treats null as absent, and ignores unknown keys', async () => {
    const pool = await app.createPool(me, {
      autoCompound: null,
      members: null,
      owner: 'me',
      id: 1,
      balance: '1',
    });
    const { data } = (await app.get(`/pools/${pool.id}`, me)).body;
    expect(data).toMatchObject({ autoCompound: false, balance: TEN });
  });

  it('counts members once, without the owner, in any case', async () => {
    const [one, two] = [newWallet().address, newWallet().address];
    const members = [one, one.toLowerCase(), two, two.toUpperCase().replace('0X', '0x'), me.wallet.address];
    const pool = await app.createPool(me, { members });
    const list = await app.get('/pools?limit=1', me);
    expect(list.body.data[0]).toMatchObject({ id: pool.id, members: 2 });
    const rows = await app.sql('SELECT address, role FROM pool_members WHERE pool_id = $1', [pool.id]);
    const expected = [
      { address: one.toLowerCase(), role: 'MEMBER' },
      { address: two.toLowerCase(), role: 'MEMBER' },
      { address: me.address, role: 'OWNER' },
    ];
    const byAddress = (a: { address?: string }, b: { address?: string }): number =>
      a.address! < b.address! ? -1 : 1;
    expect(rows.sort(byAddress)).toEqual(expected.sort(byAddress));
  });

  it('accepts 100 different members, and no more', async () => {
    const members = Array.from({ length: 101 }, () => newWallet().address.toLowerCase());
    await app.createPool(me, { members: [...members.slice(0, 100), members[0], me.address] });
    await refused({ ...valid, members }, 'members');
  });
});

describe('the amount', () => {
  it('is at least the minimum', async () => {
    for (const initialDeposit of ['9999999999999999999', '0', '1', '00009999999999999999999']) {
      const answer = await create({ ...valid, initialDeposit });
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual({
        success: false,
        error: 'Initial deposit below minimum',
        code: 'deposit_below_minimum',
      });
    }
    expect((await create({ ...valid, initialDeposit: TEN })).status).toBe(201);
  });

  it('is returned without leading zeros', async () => {
    expect(await app.createPool(me, { initialDeposit: `000${TEN}` })).toMatchObject({ balance: TEN });
  });

  it('may be 2^256-1, also with leading zeros, and no more', async () => {
    expect(await app.createPool(me, { initialDeposit: MAX })).toMatchObject({ balance: MAX });
    expect(await app.createPool(me, { initialDeposit: `${'0'.repeat(300)}${MAX}` })).toMatchObject({
      balance: MAX,
    });
    for (const initialDeposit of [(2n ** 256n).toString(), '9'.repeat(78), '1'.repeat(79), '9'.repeat(400)])
      await refused({ ...valid, initialDeposit }, 'initialDeposit');
  });

  it('may add up beyond 2^256', async () => {
    const rich = await app.signIn();
    for (let i = 0; i < 3; i++) await app.createPool(rich, { initialDeposit: MAX });
    const sum = (3n * BigInt(MAX)).toString();
    expect((await app.get('/auth/me', rich)).body.data).toMatchObject({ poolCount: 3, totalDeposits: sum });
    const { data } = (await app.get('/analytics/user', rich)).body;
    expect(data.totalDeposited).toBe(sum);
    expect(data.chartData.deposits).toEqual([{ date: expect.any(String), amount: sum }]);
    const all = (await app.get('/analytics/pools', rich)).body.data as { totalDeposits: string };
    expect(BigInt(all.totalDeposits)).toBeGreaterThan(2n ** 256n);
  });

  it.each([1e19, true, [TEN], '1.5', '-1', '0x10', '', ` ${TEN}`])('is refused: %j', (initialDeposit) =>
    refused({ ...valid, initialDeposit }, 'initialDeposit'),
  );

  it('is required', () => refused({ type: 'individual' }, 'initialDeposit'));
});

describe('other fields', () => {
  it.each(['savings', 'Individual', '', 1, null, ['individual'], 'constructor'])(
    'type is refused: %j',
    (type) => refused({ ...valid, type }, 'type'),
  );
  it('type is required', () => refused({ initialDeposit: TEN }, 'type'));

  it.each(['true', 1, 0, 'yes', [], {}])('autoCompound is refused: %j', (autoCompound) =>
    refused({ ...valid, autoCompound }, 'autoCompound'),
  );

  it('members: names the wrong elements', async () => {
    const good = newWallet().address;
    await refused({ ...valid, members: ['0x12'] }, 'members[0]');
    await refused(
      { ...valid, members: [good, '0x12', good, null, 7, `${good}0`, [good]] },
      'members[1]',
      'members[3]',
      'members[4]',
      'members[5]',
      'members[6]',
    );
  });
  it.each(['0x12', newWallet().address, {}, 7, true, { 0: newWallet().address, length: 1 }])(
    'members is refused: %j',
    (members) => refused({ ...valid, members }, 'members'),
  );

  it('all wrong fields are named at once', () =>
    refused(
      { type: 'x', initialDeposit: 1, autoCompound: 2, members: 3 },
      'type',
      'initialDeposit',
      'autoCompound',
      'members',
    ));

  it.each([[[]], ['text'], [7], [null], [true]])('the body is refused: %j', (body) =>
    refused(JSON.stringify(body), 'body'),
  );
});
