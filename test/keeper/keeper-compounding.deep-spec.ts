import { type Address, formatEther, parseEther, toHex } from 'viem';
import { PoolContracts } from '#ledger/chain/chain.settings';
import { type DevClient, anvilRpc, artifacts, connect, devAccount } from '#dev/deploy';
import { ContractAmounts } from '#ledger/chain/amounts';
import { HOUR, NO_REF, OTHER_POOL, POOL } from '../support/chain/contracts';
import {
  COMPLETED,
  dueDraw,
  keeper,
  later,
  status,
  t,
  transactions,
  useKeepers,
} from '../support/chain/keeper-bench';

useKeepers();

const MINIMUM = 1000n;
const MINUTE = 60_001;
const compounded = 'keeper_transactions_total{kind="compound",outcome="succeeded"}';

beforeEach(() => t.newPool(MINIMUM));

const of = (client: DevClient): Address => client.account.address;
const balance = (client: DevClient, pool = POOL): Promise<bigint> => t.view('balanceOf', pool, of(client));

/** Pays in, and wants yield paid in again unless told otherwise. */
async function save(client: DevClient, pool = POOL, wants = true): Promise<void> {
  await t.call(client, 'deposit', pool, NO_REF, MINIMUM);
  if (wants) await t.call(client, 'startCompounding', pool);
}

async function accrue(amount: bigint, pool = POOL): Promise<void> {
  await t.passTime(HOUR);
  await t.call(t.owner, 'accrueYield', pool, amount, 500);
}

/** Accounts that have tokens, beside those of the bench. */
async function savers(count: number): Promise<DevClient[]> {
  const clients = await Promise.all(
    Array.from({ length: count }, (_, i) => connect(t.anvil.url, devAccount(i + 3))),
  );
  for (const client of clients) {
    await anvilRpc(t.owner, 'anvil_setBalance', of(client), toHex(parseEther('1')));
    await t.mint(client, parseEther('1'));
  }
  return clients;
}

describe('the keeper pays yield in again', () => {
  it('for those who want it, once an accrual, and for nobody else', async () => {
    await save(t.alice);
    await save(t.bob, POOL, false);
    const { round, count } = keeper();
    expect(await round()).toBe('idle');
    await accrue(10_000n);
    const earned = await t.view('claimableOf', POOL, of(t.alice));
    expect(await round()).toBe('sending');
    expect(await balance(t.alice)).toBe(MINIMUM + earned);
    expect(await balance(t.bob)).toBe(MINIMUM);
    for (let i = 0; i < 3; i++) expect(await round()).toBe('idle');
    later(MINUTE);
    expect(await round()).toBe('idle');
    expect([await transactions(), await count(compounded)]).toEqual([1, 1]);

    await accrue(10_000n);
    expect(await round()).toBe('sending');
    await t.call(t.alice, 'stopCompounding', POOL);
    jest.restoreAllMocks();
    later(2 * MINUTE);
    await accrue(10_000n);
    for (let i = 0; i < 3; i++) expect(await round()).toBe('idle');
  });

  it('when it is worth it: by the minimum of the contract, and by the setting', async () => {
    await save(t.alice);
    const careful = keeper({ KEEPER_LEAST_YIELD: '5000' });
    // The setting of a contract counts before that of all.
    const [here, elsewhere] = [t.pool, t.token].map((contract) => new ContractAmounts([[contract, '5000']]));
    const carefulHere = keeper({ KEEPER_LEAST_YIELDS: here });
    const { round } = keeper({ KEEPER_LEAST_YIELDS: elsewhere });
    await accrue(MINIMUM);
    expect([await round(), await careful.round()]).toEqual(['idle', 'idle']);
    await accrue(MINIMUM);
    expect([await careful.round(), await carefulHere.round()]).toEqual(['idle', 'idle']);
    expect(await round()).toBe('sending');
    await accrue(5001n);
    expect(await careful.round()).toBe('sending');
  });

  it('of every contract, in one transaction for several accounts', async () => {
    const lottery = t.pool;
    await save(t.alice);
    await save(t.bob);
    await accrue(10_000n);
    await t.newPool(MINIMUM);
    await save(t.alice, OTHER_POOL);
    await accrue(10_000n, OTHER_POOL);
    const POOL_CONTRACTS = new PoolContracts([
      ['lottery', [lottery]],
      ['individual', [t.token, t.pool]],
      ['cooperative', [t.pool]],
    ]);
    const { round } = keeper({ POOL_CONTRACTS });
    expect([await round(), await round(), await round()]).toEqual(['sending', 'sending', 'idle']);
    expect(await transactions()).toBe(2);
  });

  it('pool by pool, so that many accounts of one do not keep another waiting', async () => {
    const many = await savers(11);
    for (const client of many) await save(client);
    await save(t.alice, OTHER_POOL);
    await accrue(100_000n);
    await accrue(100_000n, OTHER_POOL);
    const { round } = keeper();
    expect(await round()).toBe('sending');
    expect(await balance(t.alice, OTHER_POOL)).toBeGreaterThan(MINIMUM);
    const waiting = async (): Promise<number> => {
      const amounts = await Promise.all(many.map((client) => t.view('compoundableOf', POOL, of(client))));
      return amounts.filter((amount) => amount > 0n).length;
    };
    expect(await waiting()).toBe(2);
    expect([await round(), await waiting()]).toEqual(['sending', 0]);
  });

  it('within half of its budget: the rest is for draws', async () => {
    await save(t.alice);
    await accrue(10_000n);
    const call = { abi: artifacts.LotteryPool.abi, address: t.pool, functionName: 'compound' };
    const gas = await t.owner.estimateContractGas({ ...call, args: [[POOL], [of(t.alice)]] });
    const { maxFeePerGas } = await t.owner.estimateFeesPerGas();
    // Fees fall from block to block here.
    const most = (gas * 5n * maxFeePerGas) / 4n;
    const { round } = keeper({ KEEPER_BUDGET: formatEther((most * 3n) / 2n) });
    const rich = keeper({ KEEPER_BUDGET: formatEther(most * 4n) });
    expect(await round()).toBe('over_budget');
    await dueDraw();
    expect(await round()).toBe('sending');
    expect([await status(), await balance(t.alice)]).toEqual([COMPLETED, MINIMUM]);
    expect(await rich.round()).toBe('sending');
    expect(await balance(t.alice)).toBeGreaterThan(MINIMUM);
  });
});
