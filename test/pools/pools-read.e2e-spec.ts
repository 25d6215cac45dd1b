import { CONTRACTS, TEN, type SignedIn, useApp } from '../support/app';
import { accrue, addTransaction } from '../support/ledger';
import { newWallet } from '../support/wallet';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;
let stranger: SignedIn;

beforeAll(async () => {
  [owner, member, stranger] = [await app.signIn(), await app.signIn(), await app.signIn()];
});

/** The first deposit of a new pool, as a list shows it. */
const announced = (id: string, { createdAt }: { createdAt?: unknown }, { address }: SignedIn): object => ({
  ...{ id, createdAt, from: address },
  ...{ type: 'DEPOSIT', amount: TEN, txHash: null, status: 'PENDING', submitted: null },
});
const ids = (answer: { body: any }): string[] => (answer.body.data as { id: string }[]).map(({ id }) => id);

describe('the list', () => {
  it('has the pools that the caller owns or is a member of, newest first, and no others', async () => {
    const [a, b] = [await app.signIn(), await app.signIn()];
    const { depositId, ...own } = await app.createPool(a, { type: 'rotating' });
    const shared = await app.createPool(b, { type: 'lottery', members: [a.wallet.address] });
    const other = await app.createPool(b);
    expect(ids(await app.get('/pools', a))).toEqual([shared.id, own.id]);
    expect(ids(await app.get('/pools', b))).toEqual([other.id, shared.id]);
    const { data } = (await app.get('/pools', a)).body;
    expect(data[1]).toMatchObject({
      ...own,
      pendingBalance: TEN,
      totalYield: '0',
      apr: 0,
      autoCompound: false,
      lastUpdate: own.createdAt,
      members: 0,
      recentTransactions: [announced(depositId, own, a)],
    });
    expect(data[0]).toMatchObject({ contractAddress: CONTRACTS.lottery, members: 1 });
  });

  it('shows a pool to a member who signs in later', async () => {
    const late = newWallet();
    const pool = await app.createPool(owner, { members: [late.address] });
    expect(ids(await app.get('/pools', await app.signIn(late)))).toEqual([pool.id]);
  });

  it('of one type has own pools and those of others, newest first', async () => {
    const [user, other] = [await app.signIn(), await app.signIn()];
    const made: string[] = [];
    for (let i = 0; i < 6; i++) {
      const [by, members] = i % 2 ? [user, []] : [other, [user.address]];
      made.unshift((await app.createPool(by, { type: 'lottery', members })).id as string);
      await app.createPool(by, { type: 'rotating', members });
    }
    for (const [page, wanted] of [
      [1, made.slice(0, 4)],
      [2, made.slice(4)],
    ] as const) {
      const answer = await app.get(`/pools?type=lottery&limit=4&page=${page}`, user);
      expect(ids(answer)).toEqual(wanted);
      expect(answer.body.pagination).toMatchObject({ total: 6, pages: 2 });
    }
    const { next } = (await app.get('/pools?type=lottery&limit=1', user)).body;
    expect(ids(await app.get(`/pools?type=lottery&after=${next}`, user))).toEqual(made.slice(1));
    // A full page that is the last one.
    for (const rest of [`limit=${made.length}`, `limit=${made.length - 1}&after=${next}`])
      expect((await app.get(`/pools?type=lottery&${rest}`, user)).body.next).toBeNull();
    expect((await app.get('/pools', user)).body.pagination.total).toBe(12);
  });

  it('has pages; the last one may be full, and later ones are empty', async () => {
    const user = await app.signIn();
    const made: string[] = [];
    for (let i = 0; i < 6; i++) made.unshift((await app.createPool(user)).id as string);
    const page = (page: number, limit: number) => app.get(`/pools?page=${page}&limit=${limit}`, user);
    expect(ids(await page(1, 4))).toEqual(made.slice(0, 4));
    expect(ids(await page(2, 4))).toEqual(made.slice(4));
    const full = await page(2, 3);
    expect(ids(full)).toEqual(made.slice(3));
    expect(full.body.pagination).toEqual({ page: 2, limit: 3, total: 6, pages: 2 });
    const behind = await page(3, 3);
    expect(behind.body).toEqual({
      success: true,
      data: [],
      pagination: { page: 3, limit: 3, total: 6, pages: 2 },
      next: null,
    });
    const far = await page(2147483647, 100);
    expect(far.body).toMatchObject({ data: [], pagination: { page: 2147483647, total: 6, pages: 1 } });
  });

  it('has cursors that lead through all of it, also while pools are added', async () => {
    const user = await app.signIn();
    const made: { id: string; type: string }[] = [];
    for (let i = 0; i < 9; i++)
      made.unshift(await app.createPool(user, { type: i % 3 ? 'lottery' : 'rotating' }));
    for (const [type, limit] of [
      [undefined, 1],
      [undefined, 4],
      [undefined, 9],
      ['lottery', 2],
    ] as const) {
      const filter = type ? `&type=${type}` : '';
      const seen: string[] = [];
      let { body } = await app.get(`/pools?limit=${limit}${filter}`, user);
      expect(body.next === null).toBe(body.pagination.pages <= 1);
      for (;;) {
        seen.push(...ids({ body }));
        if (body.next === null) break;
        if (limit === 4) await app.createPool(user, { type: 'individual' });
        ({ body } = await app.get(`/pools?limit=${limit}&after=${body.next}${filter}`, user));
        expect(Object.keys(body as object)).toEqual(['success', 'data', 'next']);
      }
      const wanted = made.filter((pool) => !type || pool.type === type).map(({ id }) => id);
      // What was added is before the page that the walk began with.
      expect(seen.slice(-wanted.length)).toEqual(wanted);
      expect(new Set(seen).size).toBe(seen.length);
    }
    const { next } = (await app.get('/pools?limit=1', user)).body;
    // Another's cursor is a place among one's own.
    expect((await app.get(`/pools?after=${next}`, await app.signIn())).body).toEqual({
      success: true,
      data: [],
      next: null,
    });
  });

  it('shows the 10 newest transactions of each pool, newest first', async () => {
    const user = await app.signIn();
    const pool = await app.createPool(user);
    const start = Date.now() + 1000;
    const rows = [];
    for (let i = 0; i < 12; i++) {
      const type = (['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'] as const)[i % 3];
      const at = new Date(start + i * 1000);
      rows.unshift(
        await addTransaction(app, {
          poolId: pool.id,
          account: user.address,
          type,
          amount: `${i}`,
          createdAt: at,
        }),
      );
    }
    const [item] = (await app.get('/pools', user)).body.data;
    expect(item.recentTransactions).toEqual(
      rows.slice(0, 10).map(({ id, type, amount, txHash, createdAt }) => ({
        id,
        type,
        amount,
        txHash,
        status: 'CONFIRMED',
        submitted: null,
        createdAt: createdAt.toISOString(),
        from: user.address,
      })),
    );
  });
});

describe('the detail', () => {
  it('has owner and transactions, for the owner and for members', async () => {
    const { depositId, ...pool } = await app.createPool(owner, {
      members: [member.address],
      autoCompound: true,
    });
    const { status, body } = await app.get(`/pools/${pool.id}`, owner);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      data: {
        ...pool,
        pendingBalance: TEN,
        totalYield: '0',
        apr: 0,
        autoCompound: true,
        lastUpdate: pool.createdAt,
        owner: { id: owner.user.id, address: owner.address },
        memberAddresses: [member.address],
        transactions: [announced(depositId, pool, owner)],
      },
    });
    expect((await app.get(`/pools/${pool.id}`, member)).body).toEqual(body);
    expect((await app.get(`/pools/${(pool.id as string).toUpperCase()}`, owner)).body).toEqual(body);
  });

  it('has the 100 newest transactions', async () => {
    const pool = await app.createPool(owner);
    const start = Date.now();
    for (let i = 1; i <= 101; i++)
      await addTransaction(app, {
        poolId: pool.id,
        account: owner.address,
        amount: `${i}`,
        createdAt: new Date(start + i * 1000),
      });
    const { transactions } = (await app.get(`/pools/${pool.id}`, owner)).body.data;
    const amounts = (transactions as { amount: string }[]).map(({ amount }) => Number(amount));
    expect(amounts).toEqual(Array.from({ length: 100 }, (_, i) => 101 - i));
  });

  it('moves lastUpdate with what happens to the pool', async () => {
    const pool = await app.createPool(owner);
    const lastUpdate = async (): Promise<string> =>
      (await app.get(`/pools/${pool.id}`, owner)).body.data.lastUpdate;
    // Not the time that the chain has for it.
    const confirmedAt = new Date('2999-01-01');
    const changes = [
      () => addTransaction(app, { poolId: pool.id, account: owner.address, confirmedAt }),
      () => app.sql(`UPDATE transactions SET amount = 7 WHERE pool_id = $1`, [pool.id]),
      () => app.sql(`DELETE FROM transactions WHERE pool_id = $1 AND status = 'CONFIRMED'`, [pool.id]),
      () => accrue(app, pool.id as string, '5', 100),
      () => app.sql('DELETE FROM yield_accruals WHERE pool_id = $1', [pool.id]),
    ];
    let before = await lastUpdate();
    expect(before).toBe(pool.createdAt);
    for (const change of changes) {
      await change();
      const after = await lastUpdate();
      expect(after > before).toBe(true);
      expect(after < confirmedAt.toISOString()).toBe(true);
      before = after;
    }
    expect((await app.get(`/pools/${pool.id}`, owner)).body.data.createdAt).toBe(pool.createdAt);
  });

  it('moves lastUpdate forward when the clock was set back, and in one millisecond', async () => {
    const pool = await app.createPool(owner);
    const ahead = new Date(Date.now() + 3_600_000);
    await app.sql('UPDATE pools SET last_update = $1 WHERE id = $2', [ahead, pool.id]);
    for (const amount of [1, 2]) {
      await app.sql('UPDATE transactions SET amount = $1 WHERE pool_id = $2', [amount, pool.id]);
      const { lastUpdate } = (await app.get(`/pools/${pool.id}`, owner)).body.data;
      expect(lastUpdate).toBe(new Date(ahead.getTime() + amount).toISOString());
    }
  });

  it('names its members without the owner', async () => {
    const others = [member.address, stranger.address, `0x${'9'.repeat(40)}`].sort();
    const { id } = await app.createPool(owner, { members: [...others].reverse() });
    const members = async (): Promise<string[]> =>
      (await app.get(`/pools/${id}`, owner)).body.data.memberAddresses;
    expect(await members()).toEqual(others);
    await app.send({ method: 'DELETE', url: `/pools/${id}/membership`, as: stranger });
    expect(await members()).toEqual(others.filter((address) => address !== stranger.address));
  });
});

describe('the yield', () => {
  const report = async (id: string, as = owner) => (await app.get(`/pools/${id}/yield`, as)).body.data;

  it('is zero at first', async () => {
    const { id } = await app.createPool(owner, { members: [member.address] });
    const expected = { totalYield: '0', claimableYield: '0', apr: 0, apy: 0, lastClaimed: null };
    expect(await report(id)).toEqual(expected);
    expect(await report(id, member)).toEqual(expected);
  });

  it('is the accrued yield minus the claimed one', async () => {
    const { id } = await app.createPool(owner);
    await accrue(app, id, '1000000000000000000', 400);
    await accrue(app, id, '7', 525);
    const createdAt = new Date(Date.now() + 5000);
    await addTransaction(app, {
      poolId: id,
      account: owner.address,
      type: 'YIELD_CLAIM',
      amount: '3',
      createdAt,
    });
    expect(await report(id)).toEqual({
      totalYield: '1000000000000000007',
      claimableYield: '1000000000000000004',
      apr: 5.25,
      apy: 5.39,
      lastClaimed: createdAt.toISOString(),
    });
    const { data } = (await app.get(`/pools/${id}`, owner)).body;
    expect(data).toMatchObject({ totalYield: '1000000000000000007', apr: 5.25, balance: TEN });
  });

  // (1 + apr/365)^365 - 1, computed with 50 digits.
  it.each([
    [1, 0.01, 0.01],
    [100, 1, 1.01],
    [500, 5, 5.13],
    [1000, 10, 10.52],
    [1234, 12.34, 13.13],
    [10000, 100, 171.46],
    [100000, 1000, 1925283.27],
  ])('compounds daily: %d basis points', async (bps, apr, apy) => {
    const { id } = await app.createPool(owner);
    await accrue(app, id, '1', bps);
    expect(await report(id)).toMatchObject({ apr, apy });
  });

  it('has the apr of the newest remaining accrual', async () => {
    const { id } = await app.createPool(owner);
    await accrue(app, id, '10', 400);
    const last = await accrue(app, id, '20', 900);
    await app.sql('DELETE FROM yield_accruals WHERE pool_id = $1 AND block_number = $2', [id, last]);
    expect(await report(id)).toMatchObject({ apr: 4, totalYield: '10' });
  });

  it('never shows a negative claimable yield', async () => {
    const { id } = await app.createPool(owner);
    await accrue(app, id, '5', 400);
    await addTransaction(app, { poolId: id, account: owner.address, type: 'YIELD_CLAIM', amount: '9' });
    expect(await report(id)).toMatchObject({ totalYield: '5', claimableYield: '0' });
  });
});
