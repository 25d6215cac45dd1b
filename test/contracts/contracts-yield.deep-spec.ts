import { maxUint256, parseEther } from 'viem';
import { type DevClient, artifacts, receiptOf } from '#dev/deploy';
import { ContractBench, HOUR, NO_REF, OTHER_POOL, POOL, REF, revertOf } from '../support/chain/contracts';

const DAY = 24n * HOUR;
const MONTH = 30n * DAY;

/** `contracts-invariants` holds every sequence of calls against a model. Here are attacks, errors and extreme amounts. */
let t: ContractBench;

beforeAll(async () => {
  t = await ContractBench.start();
});
beforeEach(() => t.newPool());
afterAll(() => t?.anvil.stop());

const claimable = (client: DevClient) => t.view('claimableOf', POOL, client.account.address);
const deposit = (client: DevClient, amount: bigint) => t.call(client, 'deposit', POOL, NO_REF, amount);
const withdraw = (client: DevClient, amount: bigint) => t.call(client, 'withdraw', POOL, NO_REF, amount);
const accrue = (amount: bigint) => t.call(t.owner, 'accrueYield', POOL, amount, 450);

describe('yield cannot be captured', () => {
  it('by a deposit, however large, that is made and withdrawn in the block of the accrual', async () => {
    await deposit(t.alice, 1000n);
    await t.passTime(MONTH);
    const done = await t.inOneBlock(
      [t.bob, 'deposit', POOL, NO_REF, parseEther('999')],
      [t.owner, 'accrueYield', POOL, 1000n, 450],
      [t.bob, 'withdraw', POOL, NO_REF, parseEther('999')],
      [t.bob, 'claimYield', POOL, NO_REF],
    );
    expect(done).toEqual([true, true, true, false]);
    expect([await claimable(t.bob), await claimable(t.alice)]).toEqual([0n, 999n]);
    await t.passTime(MONTH);
    await accrue(1000n);
    expect([await claimable(t.bob), await claimable(t.alice)]).toEqual([0n, 1998n]);
  });

  it('at the first accrual, nor by the first deposit', async () => {
    const around = (): Promise<boolean[]> =>
      t.inOneBlock(
        [t.bob, 'deposit', POOL, NO_REF, 500n],
        [t.owner, 'accrueYield', POOL, 1000n, 450],
        [t.bob, 'withdraw', POOL, NO_REF, 500n],
      );
    // Nobody else is in the pool.
    expect(await around()).toEqual([true, false, true]);
    await deposit(t.alice, 10n);
    await t.passTime(1n);
    expect(await around()).toEqual([true, true, true]);
    expect(await claimable(t.bob)).toBe(0n);
    expect(await claimable(t.alice)).toBeGreaterThanOrEqual(999n);
  });
});

describe('savers', () => {
  it('can call again at once: gas estimated in the second of the last change is enough later', async () => {
    const call = async (functionName: string, ...args: unknown[]): Promise<void> => {
      const { account } = t.alice;
      const sent = { abi: artifacts.LotteryPool.abi, address: t.pool, functionName, args, account };
      const gas = await t.owner.estimateContractGas({ ...sent, blockTag: 'latest' });
      await t.after(DAY);
      const hash = await t.alice.writeContract({ ...sent, gas });
      const { status } = await receiptOf(t.owner, hash);
      expect([functionName, status]).toEqual([functionName, 'success']);
    };
    await deposit(t.alice, 100n);
    await call('deposit', POOL, NO_REF, 100n);
    await call('withdraw', POOL, NO_REF, 50n);
    await call('withdraw', POOL, NO_REF, 150n);
    await call('deposit', POOL, NO_REF, 100n);
    await accrue(1000n);
    await call('deposit', POOL, NO_REF, 100n);
    await call('claimYield', POOL, NO_REF);
    await call('withdraw', POOL, NO_REF, 200n);
  });
});

describe('a stranger', () => {
  it('cannot lock a pool by a deposit so large that weights overflow', async () => {
    await deposit(t.alice, 1000n);
    const most = 2n ** 128n - 1n;
    await t.mint(t.bob, maxUint256 / 2n);
    expect(await revertOf(deposit(t.bob, most))).toBe('PoolFull');
    expect(await revertOf(deposit(t.bob, maxUint256 / 2n))).toBe('PoolFull');
    await deposit(t.bob, most - 1000n);
    expect(await revertOf(deposit(t.alice, 1n))).toBe('PoolFull');
    await t.passTime(100n * 365n * DAY);
    await accrue(parseEther('1'));
    await t.passTime(100n * 365n * DAY);
    await accrue(parseEther('1'));
    await withdraw(t.alice, 1000n);
    await withdraw(t.bob, most - 1000n);
    expect(await t.view('totalOf', POOL)).toBe(0n);
  });

  it('cannot stop accruals by holding next to nothing for a second', async () => {
    await deposit(t.bob, 1n);
    await t.after(1n);
    await withdraw(t.bob, 1n);
    for (let year = 0; year < 3; year += 1) {
      await t.after(365n * DAY);
      await t.call(t.bob, 'deposit', POOL, NO_REF, 1n);
      await t.after(1n);
      await withdraw(t.bob, 1n);
      await t.passTime(1n);
      await accrue(parseEther('100'));
    }
    await deposit(t.alice, 1000n);
    await t.passTime(DAY);
    await accrue(1000n);
    expect(await claimable(t.alice)).toBe(999n);
    await withdraw(t.alice, 1000n);
  });
});

describe('the minimum', () => {
  const MINIMUM = 1000n;
  beforeEach(() => t.newPool(MINIMUM));

  it('is asked of every deposit, gift and withdrawal', async () => {
    expect(await t.view('minimumDeposit')).toBe(MINIMUM);
    expect(await revertOf(deposit(t.alice, MINIMUM - 1n))).toBe('BelowMinimum');
    await deposit(t.alice, MINIMUM);
    expect(await revertOf(deposit(t.alice, 1n))).toBe('BelowMinimum');
    const many = [POOL, OTHER_POOL];
    const refs = [REF, REF];
    const call = (amounts: bigint[]) => t.call(t.alice, 'depositMany', many, refs, amounts);
    expect(await revertOf(call([MINIMUM, MINIMUM - 1n]))).toBe('BelowMinimum');
    await call([MINIMUM, MINIMUM]);
    for (const amount of [1n, MINIMUM - 1n])
      expect(await revertOf(withdraw(t.alice, amount))).toBe('BelowMinimum');
    const drawId = await t.openDraw();
    expect(await revertOf(t.call(t.bob, 'fundPrize', drawId, MINIMUM - 1n))).toBe('BelowMinimum');
    await t.call(t.bob, 'fundPrize', drawId, MINIMUM);
    expect((await t.events()).length).toBe(5);
  });
});
