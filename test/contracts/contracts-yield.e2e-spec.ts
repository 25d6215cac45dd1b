import { maxUint256, parseEther } from 'viem';
import { YieldModel } from '#verify/checks/yield-model';
import { type DevClient, artifacts, receiptOf } from '#dev/deploy';
import { ContractBench, HOUR, NO_REF, OTHER_POOL, POOL, REF, revertOf } from '../support/chain/contracts';
import { SEED, fractions } from '../support/random';

const DAY = 24n * HOUR;
const MONTH = 30n * DAY;
let t: ContractBench;

beforeAll(async () => {
  t = await ContractBench.start();
});
beforeEach(() => t.newPool());
afterAll(() => t?.anvil.stop());

const claimable = (client: DevClient) => t.view('claimableOf', POOL, client.account.address);
const weight = (client: DevClient) => t.view('weightOf', POOL, client.account.address);
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

  it('by being in the pool around every accrual and away between them', async () => {
    await deposit(t.alice, 1000n);
    for (let month = 0; month < 4; month += 1) {
      await t.passTime(MONTH);
      await t.inOneBlock(
        [t.bob, 'deposit', POOL, NO_REF, 1000n],
        [t.owner, 'accrueYield', POOL, 1000n, 450],
        [t.bob, 'withdraw', POOL, NO_REF, 1000n],
      );
    }
    expect(await claimable(t.bob)).toBe(0n);
    expect(await claimable(t.alice)).toBeGreaterThanOrEqual(3998n);
  });

  it('by cutting a balance up, taking it out and putting it back within a block', async () => {
    await t.inOneBlock([t.alice, 'deposit', POOL, NO_REF, 1000n], [t.bob, 'deposit', POOL, NO_REF, 1000n]);
    for (let day = 0; day < 3; day += 1) {
      await t.after(DAY);
      await t.inOneBlock(
        [t.bob, 'withdraw', POOL, NO_REF, 1000n],
        [t.bob, 'deposit', POOL, NO_REF, 400n],
        [t.bob, 'deposit', POOL, NO_REF, 600n],
        [t.bob, 'withdraw', POOL, NO_REF, 1n],
        [t.bob, 'deposit', POOL, NO_REF, 1n],
      );
    }
    expect(await weight(t.bob)).toBe(await weight(t.alice));
    await t.after(DAY);
    await accrue(parseEther('2'));
    expect(await claimable(t.bob)).toBe(await claimable(t.alice));
  });

  it('in another pool, or of an accrual that is past', async () => {
    await deposit(t.alice, 1000n);
    await t.call(t.bob, 'deposit', OTHER_POOL, NO_REF, 1000n);
    await t.passTime(DAY);
    await accrue(1000n);
    await deposit(t.bob, 1000n);
    await t.passTime(DAY);
    expect([await claimable(t.bob), await claimable(t.alice)]).toEqual([0n, 999n]);
    expect(await t.view('claimableOf', OTHER_POOL, t.bob.account.address)).toBe(0n);
  });
});

describe('savers', () => {
  it('get their exact share, whether they touch their account between accruals or not', async () => {
    await t.inOneBlock([t.alice, 'deposit', POOL, NO_REF, 3000n], [t.bob, 'deposit', POOL, NO_REF, 1000n]);
    for (let month = 0; month < 6; month += 1) {
      await t.after(MONTH);
      await accrue(parseEther('4'));
      await t.call(t.bob, 'claimYield', POOL, NO_REF);
    }
    const bobs = (await t.events()).filter((event) => event.eventName === 'YieldClaimed');
    for (const { args } of bobs) expect(parseEther('1') - args.amount).toBeLessThanOrEqual(1n);
    expect(6n * parseEther('3') - (await claimable(t.alice))).toBeLessThanOrEqual(6n);
  });

  it('keep what they earned when they leave before the accrual, and earn nothing after', async () => {
    await t.inOneBlock([t.alice, 'deposit', POOL, NO_REF, 100n], [t.bob, 'deposit', POOL, NO_REF, 100n]);
    await t.after(DAY);
    await withdraw(t.bob, 100n);
    await t.after(DAY);
    await accrue(3000n);
    expect([await claimable(t.bob), await claimable(t.alice)]).toEqual([999n, 1999n]);
    await t.after(DAY);
    await accrue(3000n);
    expect([await claimable(t.bob), await claimable(t.alice)]).toEqual([999n, 4998n]);
  });

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

  it('are paid when all have left before the accrual', async () => {
    await deposit(t.alice, 100n);
    await t.after(DAY);
    await withdraw(t.alice, 100n);
    await t.passTime(DAY);
    await accrue(1000n);
    expect(await claimable(t.alice)).toBe(999n);
    await t.passTime(DAY);
    expect(await revertOf(accrue(1000n))).toBe('NoDeposits');
  });

  it('are not harmed by a second accrual within a block, which is refused', async () => {
    await deposit(t.alice, 100n);
    await t.passTime(DAY);
    const twice = await t.inOneBlock(
      [t.owner, 'accrueYield', POOL, 1000n, 450],
      [t.owner, 'accrueYield', POOL, 1000n, 450],
    );
    expect(twice).toEqual([true, false]);
    await t.passTime(1n);
    await accrue(1000n);
    expect(await claimable(t.alice)).toBe(1999n);
  });

  it('see their weight grow by the second, and begin anew with an accrual', async () => {
    await t.inOneBlock([t.alice, 'deposit', POOL, NO_REF, 30n], [t.bob, 'deposit', POOL, NO_REF, 10n]);
    expect([await weight(t.alice), await t.view('totalWeightOf', POOL)]).toEqual([0n, 0n]);
    const start = await now();
    await t.passTime(HOUR);
    const held = (await now()) - start;
    expect([await weight(t.alice), await weight(t.bob)]).toEqual([30n * held, 10n * held]);
    expect(await t.view('totalWeightOf', POOL)).toBe(40n * held);
    await accrue(100n);
    expect([await weight(t.alice), await t.view('totalWeightOf', POOL)]).toEqual([0n, 0n]);
  });
});

describe('a stranger', () => {
  it('changes nobody else’s balance, weight or yield by anything he does', async () => {
    await deposit(t.alice, 1000n);
    await t.passTime(DAY);
    await accrue(5000n);
    const before = [await t.view('balanceOf', POOL, t.alice.account.address), await claimable(t.alice)];
    const start = await weight(t.alice);
    await t.inOneBlock(
      [t.bob, 'deposit', POOL, REF, 500n],
      [t.bob, 'depositMany', [POOL, OTHER_POOL], [REF, NO_REF], [1n, 2n]],
      [t.bob, 'withdraw', POOL, REF, 501n],
    );
    expect([await t.view('balanceOf', POOL, t.alice.account.address), await claimable(t.alice)]).toEqual(
      before,
    );
    expect(await weight(t.alice)).toBeGreaterThanOrEqual(start);
    await t.passTime(DAY);
    await accrue(5000n);
    expect(await claimable(t.alice)).toBe(9998n);
  });

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

  it('lets a rest below it be withdrawn, but only all at once', async () => {
    await deposit(t.alice, 2n * MINIMUM - 1n);
    await withdraw(t.alice, MINIMUM);
    expect(await revertOf(withdraw(t.alice, MINIMUM - 2n))).toBe('BelowMinimum');
    expect(await revertOf(withdraw(t.alice, MINIMUM))).toBe('InsufficientBalance');
    await withdraw(t.alice, MINIMUM - 1n);
    expect(await revertOf(withdraw(t.alice, 0n))).toBe('ZeroAmount');
    expect(await revertOf(t.call(t.alice, 'claimYield', POOL, NO_REF))).toBe('NothingToClaim');
  });

  it('lets yield below it be claimed, once an accrual', async () => {
    await deposit(t.alice, MINIMUM);
    await t.passTime(DAY);
    await accrue(2n);
    await t.call(t.alice, 'claimYield', POOL, NO_REF);
    await t.passTime(DAY);
    expect(await revertOf(t.call(t.alice, 'claimYield', POOL, NO_REF))).toBe('NothingToClaim');
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

describe('random operations', () => {
  it.each([1, 2, 3].map((n) => SEED - 1 + n))(
    'follow the model to the unit, pay no more than came in, and give everything back (seed %i)',
    async (seed) => {
      const random = fractions(seed);
      const pick = <T>(items: T[]): T => items[Math.floor(random() * items.length)];
      const amount = (): bigint => BigInt(Math.floor(10 ** (random() * 15)));
      const minimum = pick([1n, 1000n, 10n ** 9n]);
      await t.newPool(minimum);
      const clients = [t.owner, t.alice, t.bob];
      const pools = [POOL, OTHER_POOL];
      const start = await Promise.all(clients.map((client) => t.tokens(client.account.address)));
      const pairs = clients.flatMap(({ account }) => pools.map((pool) => [pool, account.address] as const));

      const check = async (): Promise<void> => {
        const model = await replayed();
        const time = await now();
        const views = ['balanceOf', 'claimableOf', 'weightOf'] as const;
        for (const [pool, account] of pairs)
          for (const view of views)
            expect([view, await t.view(view, pool, account)]).toEqual([
              view,
              model[view](pool, account, time),
            ]);
        for (const pool of pools) {
          expect(await t.view('totalOf', pool)).toBe(model.totalOf(pool));
          expect(await t.view('totalWeightOf', pool)).toBe(model.totalWeightOf(pool, time));
        }
      };

      for (let i = 0; i < 90; i += 1) {
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
      const names = new Set((await t.events()).map(({ eventName }) => eventName));
      expect(names.size).toBe(4);

      for (const client of clients)
        for (const pool of pools) {
          const held = await t.view('balanceOf', pool, client.account.address);
          if (held > 0n) await t.call(client, 'withdraw', pool, NO_REF, held);
          const earned = await t.view('claimableOf', pool, client.account.address);
          if (earned > 0n) await t.call(client, 'claimYield', pool, NO_REF);
        }
      await check();
      const end = await Promise.all(clients.map((client) => t.tokens(client.account.address)));
      const left = await t.tokens(t.pool);
      const sum = (all: bigint[]): bigint => all.reduce((total, each) => total + each, 0n);
      expect(sum(start) - sum(end)).toBe(left);
      // The rest that rounding leaves: under one unit for each rate and each share.
      const events = await t.events();
      expect(left).toBeLessThan(BigInt(3 * events.length));
      const net = new Map<string, bigint>();
      for (const { eventName, args } of events) {
        if (!('poolId' in args) || !('account' in args)) continue;
        const key = `${args.poolId} ${args.account}`;
        const signed =
          eventName === 'Deposited' ? args.amount : eventName === 'Withdrawn' ? -args.amount : 0n;
        net.set(key, (net.get(key) ?? 0n) + signed);
      }
      expect([...net.values()].filter((value) => value !== 0n)).toEqual([]);
    },
  );
});
