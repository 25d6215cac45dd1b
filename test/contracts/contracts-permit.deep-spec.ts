import { toFunctionSelector } from 'viem';
import { type DevClient, execute, read } from '#dev/deploy';
import { CONTRIBUTION, CircleBench } from '../support/circles/circles';
import {
  ContractBench,
  HOUR,
  NO_REF,
  POOL,
  PRICE,
  type Permit,
  REF,
  revertOf,
  signPermit,
} from '../support/chain/contracts';

let t: ContractBench;
let c: CircleBench;
let deadline: bigint;

beforeAll(async () => {
  t = await ContractBench.start();
  c = await CircleBench.start(3, t.anvil);
});
afterAll(() => t?.anvil.stop());

const onToken = (bench: { token: `0x${string}` }, client: DevClient, name: string, ...args: unknown[]) =>
  execute(client, 'TestToken', bench.token, name, args);
const approve = (client: DevClient, amount: bigint) => onToken(t, client, 'approve', t.pool, amount);
const allowance = (client: DevClient, bench: { token: `0x${string}`; pool: `0x${string}` } = t) =>
  read<bigint>(client, 'TestToken', bench.token, 'allowance', [client.account.address, bench.pool]);

describe('savings and draws', () => {
  beforeEach(async () => {
    await t.newPool();
    for (const client of [t.alice, t.bob]) await approve(client, 0n);
    deadline = (await t.owner.getBlock()).timestamp + HOUR;
  });

  const permit = (client: DevClient, value: bigint, until = deadline): Promise<Permit> =>
    signPermit(client, t.token, { spender: t.pool, value, deadline: until });
  const deposit = (client: DevClient, amount: bigint, signed: Permit) =>
    t.call(client, 'depositWithPermit', POOL, REF, amount, ...signed);
  /** The token's own error, which the contract's ABI does not have. */
  const notAllowed = (paid: Promise<unknown>): Promise<void> =>
    expect(paid).rejects.toThrow(toFunctionSelector('ERC20InsufficientAllowance(address,uint256,uint256)'));

  it('a payment with a permit takes one transaction, and leaves nothing allowed', async () => {
    const { logs } = await deposit(t.alice, 100n, await permit(t.alice, 100n));
    expect([await t.view('balanceOf', POOL, t.alice.account.address), await allowance(t.alice)]).toEqual([
      100n,
      0n,
    ]);
    expect(logs.map(({ address }) => address)).toEqual([t.token, t.pool, t.token]);
    expect(await t.events()).toMatchObject([
      { eventName: 'Deposited', args: { ref: REF, account: t.alice.account.address, amount: 100n, seq: 1n } },
    ]);

    const drawId = await t.openDraw();
    const before = await t.tokens(t.alice.account.address);
    await t.call(t.alice, 'buyTicketsWithPermit', drawId, 3n, ...(await permit(t.alice, 3n * PRICE)));
    expect(await t.view('ticketsOf', drawId, t.alice.account.address)).toBe(3n);
    expect([before - (await t.tokens(t.alice.account.address)), await allowance(t.alice)]).toEqual([
      3n * PRICE,
      0n,
    ]);
  });

  it('a permit that another one used first does not stop the payment', async () => {
    const signed = await permit(t.alice, 100n);
    await onToken(t, t.bob, 'permit', t.alice.account.address, t.pool, 100n, ...signed);
    await deposit(t.alice, 100n, signed);
    expect([await t.view('totalOf', POOL), await allowance(t.alice)]).toEqual([100n, 0n]);

    const drawId = await t.openDraw();
    const tickets = await permit(t.alice, PRICE);
    await onToken(t, t.bob, 'permit', t.alice.account.address, t.pool, PRICE, ...tickets);
    await t.call(t.alice, 'buyTicketsWithPermit', drawId, 1n, ...tickets);
    expect(await t.view('ticketsOf', drawId, t.alice.account.address)).toBe(1n);
  });

  it('a permit that is used up, of another amount, or too old pays nothing without an allowance', async () => {
    const used = await permit(t.alice, 100n);
    await deposit(t.alice, 100n, used);
    const old = await permit(t.alice, 50n, 1n);
    const wrong: [bigint, Permit][] = [
      [100n, used],
      [51n, await permit(t.alice, 50n)],
      [50n, old],
      [50n, await permit(t.bob, 50n)],
    ];
    for (const [amount, signed] of wrong) await notAllowed(deposit(t.alice, amount, signed));
    expect([await t.view('totalOf', POOL), await allowance(t.alice)]).toEqual([100n, 0n]);
    // An allowance from before counts, whatever the permit is.
    await approve(t.alice, 50n);
    await deposit(t.alice, 50n, old);
    expect(await t.view('totalOf', POOL)).toBe(150n);
  });

  it("another one's permit and allowance pay nothing: the payer is the sender", async () => {
    const signed = await permit(t.alice, 100n);
    await notAllowed(deposit(t.bob, 100n, signed));
    await approve(t.alice, 1000n);
    await notAllowed(deposit(t.bob, 100n, signed));
    await approve(t.bob, 100n);
    const before = await t.tokens(t.alice.account.address);
    await deposit(t.bob, 100n, signed);
    expect(await t.tokens(t.alice.account.address)).toBe(before);
    expect(await t.view('balanceOf', POOL, t.bob.account.address)).toBe(100n);
  });

  it('the rules of payments hold for those with a permit', async () => {
    await t.newPool(10n);
    await approve(t.alice, 0n);
    expect(await revertOf(deposit(t.alice, 9n, await permit(t.alice, 9n)))).toBe('BelowMinimum');
    expect(await revertOf(deposit(t.alice, 0n, await permit(t.alice, 0n)))).toBe('ZeroAmount');
    const buy = async (drawId: bigint, count: bigint): Promise<string | undefined> =>
      revertOf(
        t.call(t.alice, 'buyTicketsWithPermit', drawId, count, ...(await permit(t.alice, count * PRICE))),
      );
    expect(await buy(1n, 1n)).toBe('WrongStatus');
    const drawId = await t.openDraw();
    expect(await buy(drawId, 0n)).toBe('ZeroAmount');
    await t.passTime(HOUR);
    deadline += 2n * HOUR;
    expect(await buy(drawId, 1n)).toBe('DrawTimePassed');
    // What fails leaves nothing allowed.
    expect(await allowance(t.alice)).toBe(0n);
  });
});

describe('circles', () => {
  const signed = async (client: DevClient, value: bigint): Promise<Permit> =>
    signPermit(client, c.token, { spender: c.pool, value, deadline: (await c.now()) + HOUR });
  let [alice, bob, carol]: DevClient[] = [];
  let id: bigint;
  beforeEach(async () => {
    [alice, bob, carol] = c.clients;
    await c.newPool();
    await onToken(c, alice, 'approve', c.pool, 0n);
    id = await c.open({ collateral: 5n });
  });

  it('take collateral and contribution by one transaction each, and leave nothing allowed', async () => {
    await c.call(alice, 'joinWithPermit', id, REF, ...(await signed(alice, 5n)));
    for (const client of [bob, carol]) await c.call(client, 'join', id, NO_REF);
    await c.call(alice, 'contributeWithPermit', id, REF, ...(await signed(alice, CONTRIBUTION)));
    expect([await c.tokens(), await allowance(alice, c)]).toEqual([15n + CONTRIBUTION, 0n]);
  });
});
