import { encodeFunctionData, parseSignature, toFunctionSelector, zeroHash } from 'viem';
import { type DevClient, artifacts, deploy, execute, read, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { CONTRIBUTION, CircleBench, DAY, Status } from '../support/circles/circles';
import { HOUR, NO_REF, POOL, REF, revertOf } from '../support/chain/contracts';

const MOST = 32;
let t: CircleBench;
let [alice, bob, carol]: DevClient[] = [];
const of = (client: DevClient) => client.account.address;
const three = () => ({ members: [alice, bob, carol].map(of) });

beforeAll(async () => {
  t = await CircleBench.start(3);
  [alice, bob, carol] = t.clients;
});
afterAll(() => t?.anvil.stop());

const refusal = (client: DevClient, name: string, ...args: unknown[]) =>
  revertOf(t.call(client, name, ...args));

describe('a circle of 32', () => {
  let large: CircleBench;
  beforeAll(async () => {
    large = await CircleBench.start(MOST);
    await large.newPool();
  });
  afterAll(() => large?.anvil.stop());

  it('costs little gas beside what a block has, whatever its members do', async () => {
    const most: Record<string, number> = {};
    const call = async (client: DevClient, name: string, args: unknown[], what = name): Promise<void> => {
      const { gasUsed } = await large.call(client, name, ...args);
      most[what] = Math.max(most[what] ?? 0, Number(gasUsed));
    };
    const [organiser] = large.clients;
    await call(organiser, 'openCircle', await large.opening({ collateral: 2n * CONTRIBUTION }));
    for (const client of large.clients) await call(client, 'join', [1n, REF]);
    for (const client of large.clients) await call(client, 'contribute', [1n, REF]);
    await call(organiser, 'endRound', [1n], 'a round that all have paid');
    for (const what of ['one that nobody has paid', 'one that nobody has paid', 'one that cannot be paid']) {
      await large.passTime(DAY);
      await call(organiser, 'endRound', [1n], what);
    }
    expect(await large.circle(1n)).toMatchObject({ status: Status.CANCELLED, round: 3 });
    for (const client of large.clients.slice(0, 3)) await call(client, 'claimPayout', [1n, REF]);
    expect(await large.tokens()).toBe(0n);

    const second = await large.started({ collateral: 1n });
    await large.passTime(DAY);
    await large.call(organiser, 'endRound', second);
    for (const client of large.clients) await call(client, 'claimRefund', [second, REF]);
    expect(await large.tokens()).toBe(0n);

    const limits = {
      openCircle: 1_800_000,
      join: 95_000,
      contribute: 80_000,
      'a round that all have paid': 60_000,
      'one that nobody has paid': 420_000,
      'one that cannot be paid': 60_000,
      claimPayout: 80_000,
      claimRefund: 80_000,
    };
    expect(Object.keys(most).sort()).toEqual(Object.keys(limits).sort());
    const above = Object.entries(limits).filter(([what, limit]) => most[what] > limit);
    expect({ above, most }).toEqual({ above: [], most });
  });
});

describe('the list of active circles', () => {
  beforeEach(() => t.newPool());

  const listed = async (): Promise<bigint[]> => {
    const count = Number(await t.view('activeCount'));
    const ids = await Promise.all(Array.from({ length: count }, (_, i) => t.view('activeAt', BigInt(i))));
    for (const [i, id] of ids.entries()) expect((await t.circle(id)).listed).toBe(BigInt(i + 1));
    return ids;
  };

  it('has those that join or run, each once, whichever ends', async () => {
    for (let i = 0; i < 4; i++) await t.open(three());
    const running = await t.started(three());
    expect(await listed()).toEqual([1n, 2n, 3n, 4n, 5n]);
    await t.call(alice, 'cancelCircle', 2n);
    expect(await listed()).toEqual([1n, 5n, 3n, 4n]);
    await t.call(alice, 'cancelCircle', 4n);
    expect(await listed()).toEqual([1n, 5n, 3n]);
    for (let i = 0; i < 3; i++) await t.round(running, three());
    expect(await listed()).toEqual([1n, 3n]);
    await t.call(alice, 'cancelCircle', 1n);
    await t.call(alice, 'cancelCircle', 3n);
    expect(await listed()).toEqual([]);
    await t.open(three());
    expect(await listed()).toEqual([6n]);
  });

  it('is read by page, with what anyone may do for each', async () => {
    await t.open(three());
    await t.started(three());
    await t.open({ ...three(), joining: 10 * DAY });
    const page = (from: bigint, count: bigint) => t.view<[bigint[], number[]]>('activeCircles', from, count);
    expect(await page(0n, 10n)).toEqual([
      [1n, 2n, 3n],
      [0, 0, 0],
    ]);
    await t.passTime(DAY + 60);
    expect(await page(0n, 2n)).toEqual([
      [1n, 2n],
      [2, 1],
    ]);
    expect(await page(2n, 2n)).toEqual([[3n], [0]]);
    expect(await page(3n, 2n)).toEqual([[], []]);
  });
});

describe('the id of a pool', () => {
  it('gives no right, and takes none: anyone may open circles for it', async () => {
    await t.newPool();
    const id = await t.started(three());
    const other = await t.started({ members: [bob, carol].map(of), by: carol, contribution: 7n });
    await t.round(id, three());
    await t.passTime(DAY);
    await t.call(carol, 'endRound', other);
    expect(await t.circle(id)).toMatchObject({ status: Status.RUNNING, round: 1 });
    const [first] = (await t.events()).filter(({ args }) => args.circleId === other);
    expect(first.args).toMatchObject({ poolId: POOL, organiser: of(carol) });
    await t.call(alice, 'claimPayout', id, NO_REF);
    expect(await t.tokens()).toBe(0n);
  });
});

describe('an account that the token refuses', () => {
  const picky = compile(['test/support/solidity/PickyToken.sol']).PickyToken;
  const [PAYS, REVERTS, SAYS_NO] = [0, 1, 2];
  const treat = async (client: DevClient, answer: number): Promise<void> => {
    const call = { abi: picky.abi, address: t.token, functionName: 'treat', args: [of(client), answer] };
    await receiptOf(alice, await alice.writeContract(call));
  };
  beforeEach(async () => t.newPool(1n, (await deploy(alice, picky)).address));

  it.each([
    ['by a revert', REVERTS],
    ['by its answer', SAYS_NO],
  ])('%s, keeps nobody else waiting, and gets its own later', async (_, answer) => {
    const id = await t.started({ ...three(), collateral: 2n * CONTRIBUTION });
    await treat(alice, answer);
    await expect(t.call(alice, 'contribute', id, NO_REF)).rejects.toThrow();
    for (let i = 0; i < 2; i++) await t.round(id, { ...three(), without: [alice] });
    await expect(t.call(alice, 'claimPayout', id, NO_REF)).rejects.toThrow();
    expect(await t.claimable(id, alice)).toEqual([300n, 0n]);
    await t.call(bob, 'claimPayout', id, NO_REF);
    await t.round(id, { ...three(), without: [alice] });
    expect(await t.circle(id)).toMatchObject({ status: Status.CANCELLED, round: 2 });
    for (const client of [bob, carol]) await t.call(client, 'claimRefund', id, NO_REF);
    expect(await t.tokens()).toBe(300n);
    await treat(alice, PAYS);
    await t.call(alice, 'claimPayout', id, NO_REF);
    expect(await t.tokens()).toBe(0n);
  });

  it('cannot join, and so the circle does not start', async () => {
    const id = await t.open({ ...three(), collateral: 5n });
    await treat(bob, SAYS_NO);
    await expect(t.call(bob, 'join', id, NO_REF)).rejects.toThrow();
    expect(await t.circle(id)).toMatchObject({ status: Status.JOINING, joined: 0 });
    await t.call(alice, 'join', id, NO_REF);
    await t.passTime(DAY + 60);
    await t.call(carol, 'cancelCircle', id);
    await t.call(alice, 'claimRefund', id, NO_REF);
    expect(await t.tokens()).toBe(0n);
  });
});

describe('a hostile token', () => {
  const hostile = compile(['test/support/solidity/ReentrantToken.sol']).ReentrantToken;
  const { abi } = artifacts.RotatingPool;
  const encode = (functionName: string, ...args: unknown[]) =>
    encodeFunctionData({ abi: [...hostile.abi, ...abi], functionName, args });
  const tell = async (functionName: string, ...args: unknown[]): Promise<void> => {
    const call = { abi: hostile.abi, address: t.token, functionName, args };
    await receiptOf(alice, await alice.writeContract(call));
  };
  const ask = (functionName: string) =>
    alice.readContract({ abi: hostile.abi, address: t.token, functionName });
  beforeEach(async () => t.newPool(1n, (await deploy(alice, hostile)).address));

  it('cannot call back into any function while one is under way', async () => {
    const guard = toFunctionSelector('ReentrancyGuardReentrantCall()');
    const changing = abi.flatMap((item) =>
      item.type === 'function' && item.stateMutability === 'nonpayable' ? [item] : [],
    );
    expect(changing).toHaveLength(9);
    for (const { name, inputs } of changing) {
      const id = await t.open({ ...three(), collateral: 5n });
      const values: Record<string, unknown> = { bytes16: POOL, bytes32: zeroHash, uint64: id };
      const args = inputs.map(({ type }) => (type.endsWith('[]') ? [] : (values[type] ?? 1n)));
      await tell('arm', t.pool, encode(name, ...args));
      await t.call(alice, 'join', id, NO_REF);
      expect([name, await ask('calledBack'), await ask('caught')]).toEqual([name, true, guard]);
    }
    expect(await t.tokens()).toBe(5n * 9n);
  });

  it('is refused when it keeps a fee', async () => {
    const id = await t.open({ ...three(), collateral: 5n });
    const paid = await t.started(three());
    await tell('setFee', 1n);
    expect(await refusal(alice, 'join', id, NO_REF)).toBe('UnsupportedToken');
    expect(await refusal(alice, 'contribute', paid, NO_REF)).toBe('UnsupportedToken');
    expect([(await t.circle(id)).joined, (await t.circle(paid)).paid]).toEqual([0, 0]);
  });
});

describe('a permit', () => {
  const signed = async (client: DevClient, value: bigint): Promise<unknown[]> => {
    const owner = of(client);
    const nonce = await read<bigint>(client, 'TestToken', t.token, 'nonces', [owner]);
    const deadline = (await t.now()) + HOUR;
    const fields = {
      owner: 'address',
      spender: 'address',
      value: 'uint256',
      nonce: 'uint256',
      deadline: 'uint256',
    };
    const signature = await client.signTypedData({
      domain: { name: 'Test Token', version: '1', chainId: client.chain.id, verifyingContract: t.token },
      types: { Permit: Object.entries(fields).map(([name, type]) => ({ name, type })) },
      primaryType: 'Permit',
      message: { owner, spender: t.pool, value, nonce, deadline },
    });
    const { r, s, v } = parseSignature(signature);
    return [deadline, v, r, s];
  };
  const allowance = () => read(alice, 'TestToken', t.token, 'allowance', [of(alice), t.pool]);
  beforeEach(async () => {
    await t.newPool();
    await execute(alice, 'TestToken', t.token, 'approve', [t.pool, 0n]);
  });

  it('pays collateral and contribution by one transaction each, and leaves nothing allowed', async () => {
    const id = await t.open({ ...three(), collateral: 5n });
    await t.call(alice, 'joinWithPermit', id, REF, ...(await signed(alice, 5n)));
    for (const client of [bob, carol]) await t.call(client, 'join', id, NO_REF);
    await t.call(alice, 'contributeWithPermit', id, REF, ...(await signed(alice, CONTRIBUTION)));
    expect([await t.tokens(), await allowance()]).toEqual([15n + CONTRIBUTION, 0n]);
  });

  it('for another amount, or of another, pays nothing', async () => {
    const id = await t.open({ ...three(), collateral: 5n });
    for (const permit of [await signed(alice, 4n), await signed(bob, 5n)])
      await expect(t.call(alice, 'joinWithPermit', id, REF, ...permit)).rejects.toThrow();
    expect((await t.circle(id)).joined).toBe(0);
  });

  it('that somebody else has used still pays', async () => {
    const id = await t.open({ ...three(), collateral: 5n });
    const permit = await signed(alice, 5n);
    await execute(bob, 'TestToken', t.token, 'permit', [of(alice), t.pool, 5n, ...permit]);
    await t.call(alice, 'joinWithPermit', id, REF, ...permit);
    expect([await t.tokens(), await allowance()]).toEqual([5n, 0n]);
  });
});
