import { byPoolType } from '#values/types';
import { TEN, type SignedIn, useApp } from '../support/app';
import { accrue, addTransaction } from '../support/ledger';

const app = useApp();
const sum = (...amounts: string[]): string => amounts.reduce((a, b) => a + BigInt(b), 0n).toString();
const day = (date: string, time = '12:00:00.000'): Date => new Date(`${date}T${time}Z`);

describe('over all pools', () => {
  const totals = async (as: SignedIn) => (await app.get('/analytics/pools', as)).body.data;
  let before: any;
  let user: SignedIn;

  beforeAll(async () => {
    user = await app.signIn();
    before = await totals(user);
  });

  it('is zero at first', () => {
    expect(before).toEqual({
      totalPools: 0,
      totalDeposits: '0',
      pendingDeposits: '0',
      totalYield: '0',
      averageAPR: 0,
      byType: byPoolType(() => 0),
      otherTokens: [],
    });
  });

  it('counts pools by type, deposits and yield, for every caller', async () => {
    const other = await app.signIn();
    const start = await totals(user);
    const pools = [
      await app.createPool(user, { type: 'lottery', initialDeposit: '10000000000000000001' }),
      await app.createPool(user, { type: 'lottery' }),
      await app.createPool(other, { type: 'individual' }),
    ];
    await accrue(app, pools[0].id as string, '100', 500);
    await accrue(app, pools[2].id as string, '11', 250);
    await addTransaction(app, { poolId: pools[1].id, account: other.address, amount: '99' });
    // Neither withdrawals nor claims are deposits.
    await addTransaction(app, {
      poolId: pools[1].id,
      account: user.address,
      amount: '7',
      type: 'WITHDRAWAL',
    });
    await addTransaction(app, {
      poolId: pools[1].id,
      account: user.address,
      amount: '8',
      type: 'YIELD_CLAIM',
    });
    const { individual, lottery, ...others } = start.byType;
    const expected = {
      totalPools: start.totalPools + 3,
      totalDeposits: sum(start.totalDeposits as string, '10000000000000000001', TEN, TEN, '99'),
      pendingDeposits: sum(start.pendingDeposits as string, '10000000000000000001', TEN, TEN),
      totalYield: sum(start.totalYield as string, '111'),
      averageAPR: expect.any(Number),
      byType: { individual: individual + 1, lottery: lottery + 2, ...others },
      otherTokens: [],
    };
    expect(await totals(user)).toEqual(expected);
    expect(await totals(other)).toEqual(expected);
  });

  it('gives the mean apr of all pools', async () => {
    const pool = await app.createPool(user);
    const pools = (await totals(user)).totalPools as number;
    await app.sql('DELETE FROM yield_accruals');
    await accrue(app, pool.id as string, '1', 1000 * pools);
    expect((await totals(user)).averageAPR).toBe(10);
    await accrue(app, (await app.createPool(user)).id as string, '1', 1100 * (pools + 1) - 1000 * pools);
    expect((await totals(user)).averageAPR).toBe(11);
  });

  it('leaves out expired deposits and their balance, and counts them again once confirmed', async () => {
    const { totalDeposits, pendingDeposits } = await totals(user);
    const owner = await app.signIn();
    const pool = await app.createPool(owner);
    const detail = async () => (await app.get(`/pools/${pool.id}`, owner)).body.data;
    const mine = async () => (await app.get('/analytics/user', owner)).body.data;
    const setStatus = (change: string) =>
      app.sql(`UPDATE transactions SET ${change} WHERE pool_id = $1`, [pool.id]);

    expect((await totals(user)).totalDeposits).toBe(sum(totalDeposits as string, TEN));
    expect((await totals(user)).pendingDeposits).toBe(sum(pendingDeposits as string, TEN));
    expect(await mine()).toMatchObject({ totalDeposited: TEN, pendingDeposits: TEN, activePoolsCount: 1 });
    expect(await detail()).toMatchObject({ balance: TEN, pendingBalance: TEN });
    expect((await app.get('/pools', owner)).body.data).toMatchObject([{ balance: TEN, pendingBalance: TEN }]);

    await setStatus(`status = 'EXPIRED'`);
    expect((await totals(user)).totalDeposits).toBe(totalDeposits);
    expect((await totals(user)).pendingDeposits).toBe(pendingDeposits);
    expect(await detail()).toMatchObject({ balance: '0', pendingBalance: '0' });
    expect((await app.get('/auth/me', owner)).body.data).toMatchObject({ totalDeposits: '0', poolCount: 1 });
    const expired = await mine();
    expect(expired).toMatchObject({ totalDeposited: '0', pendingDeposits: '0', activePoolsCount: 0 });
    expect(expired.chartData).toEqual({ deposits: [], yields: [] });

    const hash = `0x${'77'.repeat(32)}`;
    await setStatus(
      `status = 'CONFIRMED', tx_hash = '${hash}', block_number = 5, log_index = 0, amount = 12`,
    );
    expect((await totals(user)).totalDeposits).toBe(sum(totalDeposits as string, '12'));
    expect((await totals(user)).pendingDeposits).toBe(pendingDeposits);
    expect(await detail()).toMatchObject({ balance: '12', pendingBalance: '0' });
    expect(await mine()).toMatchObject({ totalDeposited: '12', pendingDeposits: '0', activePoolsCount: 1 });
  });
});

describe('of a user', () => {
  const report = async (as: SignedIn) => (await app.get('/analytics/user', as)).body.data;

  it('is zero at first', async () => {
    const user = await app.signIn();
    expect(await report(user)).toEqual({
      totalDeposited: '0',
      pendingDeposits: '0',
      totalYield: '0',
      yieldEarned: '0',
      activePoolsCount: 0,
      averageAPR: 0,
      joinedAt: user.user.createdAt,
      chartData: { deposits: [], yields: [] },
      otherTokens: [],
    });
  });

  it('counts own deposits in any pool, the yield of own pools, and own claims', async () => {
    const [user, other] = [await app.signIn(), await app.signIn()];
    const own = await app.createPool(user);
    const second = await app.createPool(user);
    const shared = await app.createPool(other, { members: [user.address] });
    await accrue(app, own.id as string, '50', 300);
    await accrue(app, second.id as string, '5', 401);
    await accrue(app, shared.id as string, '1000', 9999);
    await addTransaction(app, { poolId: shared.id, account: user.address, amount: '3' });
    await addTransaction(app, { poolId: own.id, account: other.address, amount: '4' });
    await addTransaction(app, { poolId: own.id, account: user.address, amount: '20', type: 'YIELD_CLAIM' });
    await addTransaction(app, { poolId: own.id, account: other.address, amount: '1', type: 'YIELD_CLAIM' });
    await addTransaction(app, { poolId: second.id, account: user.address, amount: TEN, type: 'WITHDRAWAL' });
    expect(await report(user)).toMatchObject({
      totalDeposited: sum(TEN, TEN, '3'),
      totalYield: '55',
      yieldEarned: '20',
      activePoolsCount: 1,
      averageAPR: 3.51,
    });
    expect(await report(other)).toMatchObject({
      totalDeposited: sum(TEN, '4'),
      totalYield: '1000',
      yieldEarned: '1',
      activePoolsCount: 1,
      averageAPR: 99.99,
    });
    expect((await app.get('/auth/me', user)).body.data).toEqual({
      id: user.user.id,
      address: user.address,
      poolCount: 2,
      totalDeposits: sum(TEN, TEN, '3'),
      createdAt: user.user.createdAt,
    });
  });

  it('charts one point per UTC day with amounts, ascending', async () => {
    const user = await app.signIn();
    const { id: poolId } = await app.createPool(user);
    await app.sql('DELETE FROM transactions WHERE pool_id = $1', [poolId]);
    const account = user.address;
    const add = (
      amount: string,
      createdAt: Date,
      type: 'DEPOSIT' | 'YIELD_CLAIM' | 'WITHDRAWAL' = 'DEPOSIT',
    ) => addTransaction(app, { poolId, account, amount, createdAt, type });
    await add('5', day('2025-03-02', '00:00:00.000'));
    await add('1', day('2024-12-31', '23:59:59.999'));
    await add('2', day('2025-01-01', '00:00:00.000'));
    await add('3', day('2025-01-01', '23:59:59.999'));
    await add('9', day('2025-02-01'), 'WITHDRAWAL');
    await add('4', day('2025-01-01'), 'YIELD_CLAIM');
    await add('6', day('2025-02-01'), 'YIELD_CLAIM');
    await add('0', day('2025-04-01'));
    expect((await report(user)).chartData).toEqual({
      deposits: [
        { date: '2024-12-31', amount: '1' },
        { date: '2025-01-01', amount: '5' },
        { date: '2025-03-02', amount: '5' },
      ],
      yields: [
        { date: '2025-01-01', amount: '4' },
        { date: '2025-02-01', amount: '6' },
      ],
    });
  });
});
