import {
  type Address,
  type Hex,
  encodeFunctionData,
  parseSignature,
  toFunctionSelector,
  zeroHash,
} from 'viem';
import { contractAbi } from '#ledger/chain/contract.abi';
import { type DevClient, artifacts, deploy, execute, read, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { ContractBench, HOUR, POOL, PRICE, REF, revertOf } from '../support/chain/contracts';

let t: ContractBench;
let deadline: bigint;

beforeAll(async () => {
  t = await ContractBench.start();
});
beforeEach(async () => {
  await t.newPool();
  for (const client of [t.alice, t.bob]) await approve(client, 0n);
  deadline = (await t.owner.getBlock()).timestamp + HOUR;
});
afterAll(() => t?.anvil.stop());

type Permit = [deadline: bigint, v: bigint, r: Hex, s: Hex];

const onToken = (client: DevClient, name: string, ...args: unknown[]): Promise<unknown> =>
  execute(client, 'TestToken', t.token, name, args);
const approve = (client: DevClient, amount: bigint): Promise<unknown> =>
  onToken(client, 'approve', t.pool, amount);
const allowance = (client: DevClient): Promise<bigint> =>
  read(t.owner, 'TestToken', t.token, 'allowance', [client.account.address, t.pool]);

/** What a wallet signs so that the pool may take this amount. */
async function permit(client: DevClient, value: bigint, until = deadline): Promise<Permit> {
  const owner = client.account.address;
  const { r, s, v } = parseSignature(
    await client.signTypedData({
      domain: { name: 'Test Token', version: '1', chainId: client.chain.id, verifyingContract: t.token },
      types: {
        Permit: [
          { name: 'owner', type: 'address' },
          { name: 'spender', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint256' },
        ],
      },
      primaryType: 'Permit',
      message: {
        owner,
        spender: t.pool,
        value,
        nonce: await read<bigint>(client, 'TestToken', t.token, 'nonces', [owner]),
        deadline: until,
      },
    }),
  );
  return [until, v!, r, s];
}

const deposit = (client: DevClient, amount: bigint, signed: Permit): ReturnType<ContractBench['call']> =>
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
  await onToken(t.bob, 'permit', t.alice.account.address, t.pool, 100n, ...signed);
  await deposit(t.alice, 100n, signed);
  expect([await t.view('totalOf', POOL), await allowance(t.alice)]).toEqual([100n, 0n]);

  const drawId = await t.openDraw();
  const tickets = await permit(t.alice, PRICE);
  await onToken(t.bob, 'permit', t.alice.account.address, t.pool, PRICE, ...tickets);
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

it("another one's permit and allowance pay nothing: whoever pays in is the sender", async () => {
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

describe('a token of another kind', () => {
  const contracts = compile([
    'test/support/solidity/ReentrantToken.sol',
    'test/support/solidity/PlainToken.sol',
  ]);
  let token: Address;
  let pool: Address;
  let tell: (functionName: string, ...args: unknown[]) => Promise<unknown>;

  async function use(name: string): Promise<void> {
    const { abi } = contracts[name];
    token = (await deploy(t.owner, contracts[name])).address;
    pool = (await deploy(t.owner, artifacts.LotteryPool, [token, t.owner.account.address, 1n])).address;
    tell = async (functionName, ...args) =>
      receiptOf(t.owner, await t.owner.writeContract({ abi, address: token, functionName, args }));
    await tell('mint', t.owner.account.address, 100n);
    await tell('approve', pool, 100n);
  }
  const pay = (): Promise<unknown> =>
    execute(t.owner, 'LotteryPool', pool, 'depositWithPermit', [
      POOL,
      REF,
      10n,
      deadline,
      27,
      zeroHash,
      zeroHash,
    ]);
  const total = (): Promise<bigint> => read(t.owner, 'LotteryPool', pool, 'totalOf', [POOL]);

  it('without permits it is paid by allowance', async () => {
    await use('PlainToken');
    await pay();
    expect(await total()).toBe(10n);
  });

  it('it cannot call back from the permit', async () => {
    await use('ReentrantToken');
    await tell(
      'arm',
      pool,
      encodeFunctionData({ ...artifacts.LotteryPool, functionName: 'claimPrize', args: [1n] }),
    );
    const ask = (functionName: string): Promise<unknown> =>
      t.owner.readContract({ abi: contracts.ReentrantToken.abi, address: token, functionName });
    await pay();
    expect([await ask('calledBack'), await ask('caught')]).toEqual([
      true,
      toFunctionSelector('ReentrancyGuardReentrantCall()'),
    ]);
    expect(await total()).toBe(10n);
  });

  it('it may refuse the winner: the prize stays for him, tells of nothing, and stops no other draw', async () => {
    await use('PlainToken');
    const run = (name: string, ...args: unknown[]) => execute(t.owner, 'LotteryPool', pool, name, args);
    const topics = async (): Promise<string[]> =>
      (await t.owner.getContractEvents({ address: pool, abi: contractAbi, fromBlock: 0n })).map(
        ({ eventName }) => eventName,
      );
    const now = async (): Promise<bigint> => (await t.owner.getBlock()).timestamp;
    await run('openDraw', 5n, (await now()) + HOUR);
    await run('buyTickets', 1n, 2n);
    await t.passTime(HOUR);
    await run('closeDraw', 1n);
    await t.mine(1);
    await run('completeDraw', 1n);
    await tell('refuse', t.owner.account.address);
    await expect(run('claimPrize', 1n)).rejects.toThrow();
    expect(await topics()).not.toContain('PrizePaid');
    await run('openDraw', 5n, (await now()) + HOUR);
    await tell('refuse', pool);
    await run('claimPrize', 1n);
    expect((await topics()).slice(-2)).toEqual(['DrawOpened', 'PrizePaid']);
  });

  it('a winner whom it refuses names who is paid instead, and nobody else does', async () => {
    await use('PlainToken');
    const run = (name: string, ...args: unknown[]) => execute(t.owner, 'LotteryPool', pool, name, args);
    await run('openDraw', 5n, (await t.owner.getBlock()).timestamp + HOUR);
    await run('buyTickets', 1n, 2n);
    await t.passTime(HOUR);
    await run('closeDraw', 1n);
    const winner = t.owner.account.address;
    const friend = t.bob.account.address;
    expect(await revertOf(run('claimPrizeTo', 1n, friend))).toBe('NotAllowed');
    await t.mine(1);
    await run('completeDraw', 1n);
    await tell('refuse', winner);
    const asBob = execute(t.bob, 'LotteryPool', pool, 'claimPrizeTo', [1n, friend]);
    expect(await revertOf(asBob)).toBe('NotAllowed');
    await run('claimPrizeTo', 1n, friend);
    expect(
      await t.owner.readContract({
        abi: contracts.PlainToken.abi,
        address: token,
        functionName: 'balanceOf',
        args: [friend],
      }),
    ).toBe(10n);
    const events = await t.owner.getContractEvents({ address: pool, abi: contractAbi, fromBlock: 0n });
    expect(events.at(-1)).toMatchObject({
      eventName: 'PrizePaid',
      args: { drawId: 1n, winner, amount: 10n },
    });
    for (const again of ['claimPrizeTo', 'claimPrize'])
      expect(await revertOf(run(again, ...(again === 'claimPrize' ? [1n] : [1n, friend])))).toBe(
        'NothingToClaim',
      );
  });
});
