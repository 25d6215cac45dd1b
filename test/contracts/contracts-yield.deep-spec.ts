import { maxUint256, parseEther } from 'viem';
import { YieldModel } from '#verify/checks/yield-model';
import { type DevClient, artifacts, receiptOf } from '#dev/deploy';
import { ContractBench, HOUR, NO_REF, OTHER_POOL, POOL, REF, revertOf } from '../support/chain/contracts';
import { SEED, fractions } from '../support/random';

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
/** The time of the latest block, at which views are called too. */
const now = async (): Promise<bigint> => (await t.owner.getBlock()).timestamp;
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
    const nobodyElse = await t.inOneBlock(
      [t.bob, 'deposit', POOL, NO_REF, 500n],
      [t.owner, 'accrueYield', POOL, 1000n, 450],
      [t.bob, 'withdraw', POOL, NO_REF, 500n],
    );
    expect(nobodyElse).toEqual([true, false, true]);
    await deposit(t.alice, 10n);
    await t.passTime(1n);
    const done = await t.inOneBlock(
      [t.bob, 'deposit', POOL, NO_REF, 500n],
      [t.owner, 'accrueYield', POOL, 1000n, 450],
      [t.bob, 'withdraw', POOL, NO_REF, 500n],
    );
    expect(done).toEqual([true, true, true]);
    expect(await claimable(t.bob)).toBe(0n);
    expect(await claimable(t.alice)).toBeGreaterThanOrEqual(999n);
  });

  it('by coming an hour before and leaving after: that earns an hour', async () => {
    await deposit(t.alice, 1000n);
    await t.after(MONTH - HOUR);
    await deposit(t.bob, 1000n);
    await t.after(HOUR);
    await accrue(721_000n);
    await withdraw(t.bob, 1000n);
    expect([await claimable(t.bob), await claimable(t.alice)]).toEqual([999n, 719_999n]);
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

/** All events so far, as the model takes them. */
async function replayed(): Promise<YieldModel> {
  const model = new YieldModel();
  const times = new Map<bigint, bigint>();
  for (const { eventName, args, blockNumber } of await t.events()) {
    if (!('poolId' in args && 'amount' in args)) continue;
    const time = times.get(blockNumber) ?? (await t.owner.getBlock({ blockNumber })).timestamp;
    times.set(blockNumber, time);
    const account = 'account' in args ? args.account : undefined;
    const kind = eventName as 'Deposited';
    expect(model.apply({ kind, pool: args.poolId, account, amount: args.amount, time })).toBe(true);
  }
  return model;
}

it(`random operations follow the model of verification to the unit, and give everything back, SEED=${SEED}`, async () => {
  const random = fractions(SEED);
  const pick = <T>(items: T[]): T => items[Math.floor(random() * items.length)];
  const amount = (): bigint => BigInt(Math.floor(10 ** (random() * 15)));
  const minimum = 1000n;
  await t.newPool(minimum);
  const clients = [t.owner, t.alice, t.bob];
  const pools = [POOL, OTHER_POOL];

  const check = async (): Promise<void> => {
    const model = await replayed();
    const time = await now();
    const views = ['balanceOf', 'claimableOf', 'weightOf'] as const;
    for (const pool of pools) {
      for (const { account } of clients)
        for (const view of views)
          expect([view, await t.view(view, pool, account.address)]).toEqual([
            view,
            model[view](pool, account.address, time),
          ]);
      expect(await t.view('totalOf', pool)).toBe(model.totalOf(pool));
      expect(await t.view('totalWeightOf', pool)).toBe(model.totalWeightOf(pool, time));
    }
  };

  for (let i = 0; i < 60; i += 1) {
    const pool = pick(pools);
    const client = pick(clients);
    const held = await t.view('balanceOf', pool, client.account.address);
    const calls: [DevClient, string, ...unknown[]][] = Array.from(
      { length: 1 + Math.floor(random() ** 2 * 4) },
      () =>
        pick([
          [client, 'deposit', pool, NO_REF, amount()],
          [pick(clients), 'depositMany', pools, [REF, REF], [minimum + amount(), minimum + amount()]],
          [client, 'withdraw', pool, NO_REF, pick([held, held / 2n, amount(), minimum])],
          [client, 'claimYield', pool, NO_REF],
          [t.owner, 'accrueYield', pool, 1n + amount(), 450],
        ]),
    );
    if (random() < 0.7) await t.after(BigInt(Math.ceil(10 ** (random() * 7))));
    await t.inOneBlock(...calls);
    if (i % 15 === 14) await check();
  }
  await t.passTime(DAY);
  expect(new Set((await t.events()).map(({ eventName }) => eventName)).size).toBe(4);

  for (const client of clients)
    for (const pool of pools) {
      const held = await t.view('balanceOf', pool, client.account.address);
      if (held > 0n) await t.call(client, 'withdraw', pool, NO_REF, held);
      const earned = await t.view('claimableOf', pool, client.account.address);
      if (earned > 0n) await t.call(client, 'claimYield', pool, NO_REF);
    }
  await check();
  // The rest that rounding leaves: under one unit for each rate and each share.
  expect(await t.tokens(t.pool)).toBeLessThan(BigInt(3 * (await t.events()).length));
});
