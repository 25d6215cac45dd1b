import { type Hex, parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { WrongChain } from '#keeper/keeper.service';
import { STUCK_MS } from '#keeper/sender';
import { anvilRpc, connect } from '#dev/deploy';
import {
  COMPLETED,
  addressOf,
  closedDraw,
  fundedKey,
  keeper,
  key,
  later,
  status,
  succeeded,
  t,
  transactions,
  withoutMining,
  useKeepers,
} from '../support/chain/keeper-bench';

useKeepers();

describe('a transaction that is stuck', () => {
  const waitingFees = async (): Promise<bigint[]> => {
    const { pending } = (await anvilRpc(t.owner, 'txpool_content')) as {
      pending: Record<string, Record<string, { maxFeePerGas: Hex }>>;
    };
    const found = Object.entries(pending).find(([who]) => who.toLowerCase() === addressOf(key).toLowerCase());
    return Object.values(found?.[1] ?? {}).map(({ maxFeePerGas }) => BigInt(maxFeePerGas));
  };

  beforeEach(async () => {
    await closedDraw();
    await t.mine(2);
  });

  it.each([
    ['by the process that sent it', true],
    ['by the one after a restart', false],
  ])('is replaced by one that pays more, %s', async (_, isSame) => {
    const first = keeper();
    await withoutMining(async () => {
      await first.round();
      const [fee] = await waitingFees();
      const next = isSame ? first : keeper();
      expect(await next.round()).toBe('sending');
      expect(await waitingFees()).toEqual([fee]);
      later(STUCK_MS + 1);
      expect(await next.round()).toBe('sending');
      const fees = await waitingFees();
      expect(fees).toHaveLength(1);
      expect(fees[0]).toBeGreaterThan((fee * 11n) / 10n);
      await t.mine(1);
      expect(await next.round()).toBe('idle');
      expect(await next.count(succeeded)).toBe(1);
    });
    expect([await transactions(), await status()]).toEqual([1, COMPLETED]);
  });

  it('that the node has lost is sent again', async () => {
    const { round } = keeper();
    await withoutMining(async () => {
      await round();
      await anvilRpc(t.owner, 'anvil_dropAllTransactions');
      later(STUCK_MS + 1);
      expect(await round()).toBe('sending');
      await t.mine(1);
    });
    expect([await transactions(), await status()]).toEqual([1, COMPLETED]);
  });
});

describe('what it spends', () => {
  beforeEach(async () => {
    await closedDraw();
    await t.mine(2);
  });

  it('stays within the budget of a day', async () => {
    const poor = keeper({ KEEPER_BUDGET: '0.0000001' });
    expect(await poor.round()).toBe('over_budget');
    expect(await transactions()).toBe(0);
    expect(await keeper({ KEEPER_BUDGET: '1' }).round()).toBe('sending');
  });

  it('counts what was spent before, for 24 hours', async () => {
    const { round } = keeper({ KEEPER_BUDGET: '0.0003' });
    let done = 0;
    while ((await round()) === 'sending') {
      done++;
      await closedDraw();
      await t.mine(2);
      expect(done).toBeLessThan(50);
    }
    expect(done).toBeGreaterThan(0);
    expect(await round()).toBe('over_budget');
    const spent = parseEther('1') - (await t.owner.getBalance({ address: addressOf(key) }));
    expect(spent).toBeLessThanOrEqual(parseEther('0.0003'));
    later(86_400_001);
    expect(await round()).toBe('sending');
  });

  it('counts in full what no receipt tells of', async () => {
    const { round, count } = keeper({ KEEPER_BUDGET: '0.0003' });
    await withoutMining(async () => {
      expect(await round()).toBe('sending');
      await anvilRpc(t.owner, 'anvil_dropAllTransactions');
      const self = await connect(t.anvil.url, privateKeyToAccount(key));
      await self.sendTransaction({ to: addressOf(key) });
      await t.mine(1);
      expect(await round()).toBe('sending');
      later(STUCK_MS + 1);
      for (let i = 0; (await round()) === 'sending' && i < 50; i++) {
        await anvilRpc(t.owner, 'anvil_dropAllTransactions');
        await self.sendTransaction({ to: addressOf(key) });
        await t.mine(1);
        jest.restoreAllMocks();
        later((i + 2) * (STUCK_MS + 1));
      }
    });
    expect(await round()).toBe('over_budget');
    expect(await count(succeeded.replace('succeeded', 'lost'))).toBeGreaterThan(0);
    expect(await status()).not.toBe(COMPLETED);
  });

  it('is nothing when the account has too little', async () => {
    expect(await keeper({ KEEPER_KEY: await fundedKey(1n) }).round()).toBe('without_funds');
  });

  it('is nothing on another chain than it is told', async () => {
    await expect(keeper({ CHAIN_ID: 1 }).round()).rejects.toThrow(WrongChain);
    expect(await transactions()).toBe(0);
  });
});
