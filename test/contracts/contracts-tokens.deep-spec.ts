import { type Abi, type Address, encodeFunctionData, toFunctionSelector, zeroHash } from 'viem';
import { type DevClient, artifacts, deploy, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { CONTRIBUTION, CircleBench, DAY, Status } from '../support/circles/circles';
import { ContractBench, HOUR, NO_REF, POOL, REF, revertOf } from '../support/chain/contracts';

/** Contracts with tokens that call back, keep a fee, or refuse accounts. */
const { ReentrantToken, PickyToken } = compile([
  'test/support/solidity/ReentrantToken.sol',
  'test/support/solidity/PickyToken.sol',
]);
const [PAYS, REVERTS, SAYS_NO] = [0, 1, 2];
let t: ContractBench;
let c: CircleBench;
let [alice, bob, carol]: DevClient[] = [];
const of = (client: DevClient) => client.account.address;
const three = () => ({ members: [alice, bob, carol].map(of) });

beforeAll(async () => {
  t = await ContractBench.start();
  c = await CircleBench.start(3, t.anvil);
  [alice, bob, carol] = c.clients;
});
afterAll(() => t?.anvil.stop());

async function tell(token: Address, { abi }: { abi: Abi }, functionName: string, ...args: unknown[]) {
  await receiptOf(alice, await alice.writeContract({ abi, address: token, functionName, args }));
}
const treat = (token: Address, client: DevClient, answer: number) =>
  tell(token, PickyToken, 'treat', of(client), answer);

describe('a token that calls back, or keeps a fee', () => {
  let token: Address;
  beforeEach(async () => {
    token = (await deploy(alice, ReentrantToken)).address;
  });

  /** Has the token make the call during the payment. @returns how that call failed */
  async function during(pool: Address, data: `0x${string}`, payment: () => Promise<unknown>) {
    await tell(token, ReentrantToken, 'arm', pool, data);
    await payment();
    const ask = (functionName: string) =>
      alice.readContract({ abi: ReentrantToken.abi, address: token, functionName });
    return (await ask('calledBack')) ? ask('caught') : 'not called back';
  }
  const GUARDED = toFunctionSelector('ReentrancyGuardReentrantCall()');

  /** A call of each function that changes something. */
  const callsOf = (abi: Abi, values: Record<string, unknown>) =>
    abi.flatMap((item) => {
      if (item.type !== 'function' || item.stateMutability !== 'nonpayable') return [];
      if (/Ownership$/.test(item.name)) return [];
      const args = item.inputs.map(({ type }) => (type.endsWith('[]') ? [] : (values[type] ?? 1n)));
      return [{ name: item.name, data: encodeFunctionData({ abi, functionName: item.name, args }) }];
    });

  it('cannot call any function of savings and draws while one is under way', async () => {
    await t.newPool(1n, token);
    const { abi } = artifacts.LotteryPool;
    await t.call(t.owner, 'transferOwnership', token);
    await tell(
      token,
      ReentrantToken,
      'act',
      t.pool,
      encodeFunctionData({ abi, functionName: 'acceptOwnership' }),
    );
    const calls = callsOf(abi, { bytes16: POOL, bytes32: zeroHash, address: token });
    expect(calls).toHaveLength(19);
    for (const { name, data } of calls) {
      const caught = await during(t.pool, data, () => t.call(t.bob, 'deposit', POOL, NO_REF, 1n));
      expect([name, caught]).toEqual([name, GUARDED]);
    }
    const permit = [1n, 27, zeroHash, zeroHash];
    const [{ data }] = calls;
    // Its permit calls back, and its transfer does no more.
    expect(
      await during(t.pool, data, () => t.call(t.bob, 'depositWithPermit', POOL, REF, 1n, ...permit)),
    ).toBe(GUARDED);
    expect([await t.view('totalOf', POOL), await t.tokens(t.pool)]).toEqual([20n, 20n]);
  });

  it('cannot call any function of circles while one is under way', async () => {
    await c.newPool(1n, token);
    const { abi } = artifacts.RotatingPool;
    const calls = callsOf(abi, { bytes16: POOL, bytes32: zeroHash });
    expect(calls).toHaveLength(9);
    for (const { name, data } of calls) {
      const id = await c.open({ ...three(), collateral: 5n });
      const caught = await during(c.pool, data, () => c.call(alice, 'join', id, NO_REF));
      expect([name, caught]).toEqual([name, GUARDED]);
    }
    expect(await c.tokens()).toBe(5n * 9n);
  });

  it('is refused when it keeps a fee', async () => {
    await t.newPool(1n, token);
    await c.newPool(1n, token);
    const id = await c.open({ ...three(), collateral: 5n });
    const paid = await c.started(three());
    await tell(token, ReentrantToken, 'setFee', 1n);
    expect(await revertOf(t.call(t.bob, 'deposit', POOL, REF, 10n))).toBe('UnsupportedToken');
    expect(await revertOf(c.call(alice, 'join', id, NO_REF))).toBe('UnsupportedToken');
    expect(await revertOf(c.call(alice, 'contribute', paid, NO_REF))).toBe('UnsupportedToken');
    expect([(await c.circle(id)).joined, (await c.circle(paid)).paid]).toEqual([0, 0]);
  });
});

describe('a winner whom the token refuses', () => {
  const ended = async (): Promise<void> => {
    await t.newPool(1n, (await deploy(alice, PickyToken)).address);
    const drawId = await t.openDraw();
    await t.call(t.bob, 'buyTickets', drawId, 1n);
    await t.passTime(HOUR);
    await t.call(t.owner, 'closeDraw', drawId);
    expect(await revertOf(t.call(t.bob, 'claimPrizeTo', drawId, of(t.alice)))).toBe('NotAllowed');
    await t.mine(1);
    await t.call(t.owner, 'completeDraw', drawId);
    await treat(t.token, t.bob, REVERTS);
  };
  beforeEach(ended);
  const prize = () => t.view<{ prize: bigint }>('drawOf', 1n).then((draw) => draw.prize);
  const last = async () => (await t.events()).at(-1);

  it('keeps the prize, and delays no other draw', async () => {
    await expect(t.call(t.owner, 'claimPrize', 1n)).rejects.toThrow();
    expect(await last()).toMatchObject({ eventName: 'DrawCompleted' });
    await t.openDraw();
    await treat(t.token, t.bob, PAYS);
    await t.call(t.owner, 'claimPrize', 1n);
    expect(await last()).toMatchObject({ eventName: 'PrizePaid' });
  });

  it('names who is paid instead, and nobody else does', async () => {
    const friend = of(t.alice);
    const before = await t.tokens(friend);
    expect(await revertOf(t.call(t.alice, 'claimPrizeTo', 1n, friend))).toBe('NotAllowed');
    await t.call(t.bob, 'claimPrizeTo', 1n, friend);
    expect((await t.tokens(friend)) - before).toBe(await prize());
    expect(await last()).toMatchObject({
      eventName: 'PrizePaid',
      args: { drawId: 1n, winner: of(t.bob), amount: await prize() },
    });
    expect(await revertOf(t.call(t.bob, 'claimPrizeTo', 1n, friend))).toBe('NothingToClaim');
    expect(await revertOf(t.call(t.bob, 'claimPrize', 1n))).toBe('NothingToClaim');
  });
});

describe('a member of a circle whom the token refuses', () => {
  beforeEach(async () => c.newPool(1n, (await deploy(alice, PickyToken)).address));

  it.each([
    ['by a revert', REVERTS],
    ['by its answer', SAYS_NO],
  ])('%s, delays nobody else, and gets what is due later', async (_, answer) => {
    const id = await c.started({ ...three(), collateral: 2n * CONTRIBUTION });
    await treat(c.token, alice, answer);
    await expect(c.call(alice, 'contribute', id, NO_REF)).rejects.toThrow();
    for (let i = 0; i < 2; i++) await c.round(id, { ...three(), without: [alice] });
    await expect(c.call(alice, 'claimPayout', id, NO_REF)).rejects.toThrow();
    expect(await c.claimable(id, alice)).toEqual([300n, 0n]);
    await c.call(bob, 'claimPayout', id, NO_REF);
    await c.round(id, { ...three(), without: [alice] });
    expect(await c.circle(id)).toMatchObject({ status: Status.CANCELLED, round: 2 });
    for (const client of [bob, carol]) await c.call(client, 'claimRefund', id, NO_REF);
    expect(await c.tokens()).toBe(300n);
    await treat(c.token, alice, PAYS);
    await c.call(alice, 'claimPayout', id, NO_REF);
    expect(await c.tokens()).toBe(0n);
  });

  it('cannot join, so the circle does not start', async () => {
    const id = await c.open({ ...three(), collateral: 5n });
    await treat(c.token, bob, SAYS_NO);
    await expect(c.call(bob, 'join', id, NO_REF)).rejects.toThrow();
    expect(await c.circle(id)).toMatchObject({ status: Status.JOINING, joined: 0 });
    await c.call(alice, 'join', id, NO_REF);
    await c.passTime(DAY + 60);
    await c.call(carol, 'cancelCircle', id);
    await c.call(alice, 'claimRefund', id, NO_REF);
    expect(await c.tokens()).toBe(0n);
  });
});

it('a token without permits is paid by its allowance', async () => {
  await t.newPool(1n, (await deploy(alice, PickyToken)).address);
  await t.call(t.bob, 'depositWithPermit', POOL, REF, 10n, 1n, 27, zeroHash, zeroHash);
  expect(await t.view('totalOf', POOL)).toBe(10n);
});
