import { hexToString, maxUint256, parseEther } from 'viem';
import { execute, type DevClient } from '#dev/deploy';
import { ContractBench, HOUR, NO_REF, POOL, revertOf } from '../support/chain/contracts';

const MINIMUM = 1000n;
let t: ContractBench;

beforeAll(async () => {
  t = await ContractBench.start();
});
beforeEach(() => t.newPool(MINIMUM));
afterAll(() => t?.anvil.stop());

const address = (client: DevClient) => client.account.address;
const view = (name: string, client: DevClient, pool = POOL) => t.view(name, pool, address(client));
const deposit = (client: DevClient, amount: bigint) => t.call(client, 'deposit', POOL, NO_REF, amount);
const start = (client: DevClient, pool = POOL) => t.call(client, 'startCompounding', pool);
const compound = (by: DevClient, ...whose: DevClient[]) =>
  t.call(
    by,
    'compound',
    whose.map(() => POOL),
    whose.map(address),
  );
async function accrue(amount: bigint): Promise<void> {
  await t.after(HOUR);
  await t.call(t.owner, 'accrueYield', POOL, amount, 450);
}

/** `contracts-invariants` holds every sequence of calls against a model. Here are events, errors and limits. */
describe('yield is paid in again', () => {
  it('by anyone, all of it, without a token that moves, and named as such in both events', async () => {
    await deposit(t.alice, 5000n);
    await start(t.alice);
    await accrue(4000n);
    const earned = await view('claimableOf', t.alice);
    const tokens = [await t.tokens(t.pool), await t.tokens(address(t.alice)), await t.tokens(address(t.bob))];
    await execute(t.alice, 'TestToken', t.token, 'approve', [t.pool, 0n]);
    await compound(t.bob, t.alice);
    expect(await view('balanceOf', t.alice)).toBe(5000n + earned);
    expect([await view('claimableOf', t.alice), await t.view('totalOf', POOL)]).toEqual([0n, 5000n + earned]);
    expect([
      await t.tokens(t.pool),
      await t.tokens(address(t.alice)),
      await t.tokens(address(t.bob)),
    ]).toEqual(tokens);
    const [claimed, deposited] = (await t.events()).slice(-2);
    expect([claimed.eventName, deposited.eventName]).toEqual(['YieldClaimed', 'Deposited']);
    for (const { args } of [claimed, deposited]) {
      expect(args).toMatchObject({ poolId: POOL, account: address(t.alice), amount: earned });
      expect(hexToString((args as { ref: `0x${string}` }).ref, { size: 16 })).toBe('compound');
    }
  });

  it('for nobody who has not asked for it, or asks for what is so already', async () => {
    await deposit(t.alice, 5000n);
    await accrue(4000n);
    expect(await revertOf(compound(t.alice, t.alice))).toBe('NothingToClaim');
    await start(t.alice);
    expect(await revertOf(start(t.alice))).toBe('NothingToChange');
    await t.call(t.alice, 'stopCompounding', POOL);
    expect(await revertOf(t.call(t.alice, 'stopCompounding', POOL))).toBe('NothingToChange');
    expect(await revertOf(compound(t.alice, t.alice))).toBe('NothingToClaim');
  });

  it('while the pool has room, and stays to be claimed when it has not', async () => {
    const most = 2n ** 128n - 1n;
    await deposit(t.alice, 5000n);
    await start(t.alice);
    await accrue(4000n);
    const earned = await view('claimableOf', t.alice);
    await t.mint(t.bob, most);
    await deposit(t.bob, most - 5000n - earned + 1n);
    expect(await view('compoundableOf', t.alice)).toBe(0n);
    expect(await revertOf(compound(t.bob, t.alice))).toBe('NothingToClaim');
    await t.call(t.bob, 'withdraw', POOL, NO_REF, MINIMUM);
    await compound(t.bob, t.alice);
  });

  it('of a hundred accounts at most in a call, with a pool for each', async () => {
    const many = (count: number) => [Array(count).fill(POOL), Array(count).fill(address(t.alice))];
    expect(await revertOf(t.call(t.bob, 'compound', ...many(101)))).toBe('TooMany');
    expect(await revertOf(t.call(t.bob, 'compound', ...many(100)))).toBe('NothingToClaim');
    expect(await revertOf(t.call(t.bob, 'compound', [POOL], []))).toBe('LengthMismatch');
  });
});

it('the list of those who want it is read in pages, with what each would get', async () => {
  type Page = [{ poolId: string; account: string }[], bigint[]];
  const page = (from: bigint, count: bigint) => t.view<Page>('compounders', from, count);
  expect(await page(0n, 10n)).toEqual([[], []]);
  await deposit(t.bob, 5000n);
  for (const client of [t.owner, t.alice, t.bob]) await start(client);
  await accrue(parseEther('0.01'));
  const [owner, alice, bob] = [t.owner, t.alice, t.bob].map((client) => ({
    poolId: POOL,
    account: address(client),
  }));
  const earned = await view('claimableOf', t.bob);
  expect(await page(0n, 10n)).toEqual([
    [owner, alice, bob],
    [0n, 0n, earned],
  ]);
  expect(await page(1n, 1n)).toEqual([[alice], [0n]]);
  expect(await page(3n, 10n)).toEqual([[], []]);
  expect(await page(maxUint256, maxUint256)).toEqual([[], []]);
  await t.call(t.owner, 'stopCompounding', POOL);
  expect(await page(0n, 10n)).toEqual([
    [bob, alice],
    [earned, 0n],
  ]);
  await t.call(t.alice, 'stopCompounding', POOL);
  expect(await page(0n, 10n)).toEqual([[bob], [earned]]);
});
