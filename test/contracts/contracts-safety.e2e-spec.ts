import { encodeFunctionData, toFunctionSelector, type Address, zeroHash } from 'viem';
import { artifacts, deploy, execute, read, receiptOf, type DevClient } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { ContractBench, HOUR, NO_REF, OTHER_POOL, POOL, REF, revertOf } from '../support/chain/contracts';
import { SEED, fractions } from '../support/random';

let t: ContractBench;

beforeAll(async () => {
  t = await ContractBench.start();
});
beforeEach(() => t.newPool());
afterAll(() => t?.anvil.stop());

describe('a hostile token', () => {
  const hostile = compile(['test/support/solidity/ReentrantToken.sol']).ReentrantToken;
  let token: Address;
  let pool: Address;

  const encode = (functionName: string, ...args: unknown[]) =>
    encodeFunctionData({ abi: [...hostile.abi, ...artifacts.LotteryPool.abi], functionName, args });
  /** Calls made on the token; `act` passes one on as the token's own account. */
  const tell = async (functionName: string, ...args: unknown[]): Promise<void> => {
    const hash = await t.owner.writeContract({ abi: hostile.abi, address: token, functionName, args });
    await receiptOf(t.owner, hash);
  };
  const ask = (functionName: string, ...args: unknown[]) =>
    t.owner.readContract({ abi: hostile.abi, address: token, functionName, args });

  beforeEach(async () => {
    token = (await deploy(t.owner, hostile)).address;
    pool = (await deploy(t.owner, artifacts.LotteryPool, [token, token, 1n])).address;
    for (const account of [token, t.owner.account.address]) await tell('mint', account, 1000n);
    await tell('approve', pool, 1000n);
    await tell('act', token, encode('approve', pool, 1000n));
    await execute(t.owner, 'LotteryPool', pool, 'deposit', [POOL, NO_REF, 100n]);
    await tell('act', pool, encode('deposit', POOL, NO_REF, 100n));
  });

  it('cannot call back into any function while one is under way', async () => {
    const guard = toFunctionSelector('ReentrancyGuardReentrantCall()');
    const changing = artifacts.LotteryPool.abi.flatMap((item) =>
      item.type === 'function' && item.stateMutability === 'nonpayable' && !/Ownership$/.test(item.name)
        ? [item]
        : [],
    );
    expect(changing).toHaveLength(19);
    for (const { name, inputs } of changing) {
      const values: Record<string, unknown> = { bytes16: POOL, bytes32: zeroHash, address: token };
      const args = inputs.map(({ type }) => (type.endsWith('[]') ? [] : (values[type] ?? 1n)));
      await tell('arm', pool, encode(name, ...args));
      await tell('act', pool, encode('withdraw', POOL, NO_REF, 1n));
      expect([name, await ask('calledBack'), await ask('caught')]).toEqual([name, true, guard]);
    }
    const left = 100n - BigInt(changing.length);
    expect(await read(t.owner, 'LotteryPool', pool, 'balanceOf', [POOL, token])).toBe(left);
    expect(await ask('balanceOf', pool)).toBe(100n + left);
  });

  it('is refused when it keeps a fee', async () => {
    await tell('setFee', 1n);
    const deposit = execute(t.owner, 'LotteryPool', pool, 'deposit', [POOL, REF, 10n]);
    expect(await revertOf(deposit)).toBe('UnsupportedToken');
    expect(await read(t.owner, 'LotteryPool', pool, 'totalOf', [POOL])).toBe(200n);
  });
});

describe('random operations', () => {
  const pools = [POOL, OTHER_POOL];
  const OPERATIONS = 250;

  /** What the contract must be able to pay at any time: deposits, unclaimed yield, prizes, refunds. */
  async function owed(clients: DevClient[]): Promise<bigint> {
    const people = clients.map((client) => client.account.address);
    const pairs = pools.flatMap((id) => people.map((account) => [id, account]));
    const ids = Array.from({ length: Number(await t.view('currentDraw')) }, (_, index) => BigInt(index + 1));
    const parts = [
      ...pairs.map((pair) => t.view('balanceOf', ...pair)),
      ...pairs.map((pair) => t.view('claimableOf', ...pair)),
      ...ids.flatMap((id) => people.map((account) => t.view('refundableOf', id, account))),
      ...ids.map(async (id) => {
        const { status, prize, paid } = await t.view<{ status: number; prize: bigint; paid: boolean }>(
          'drawOf',
          id,
        );
        return status < 4 && !paid ? prize : 0n;
      }),
    ];
    return (await Promise.all(parts)).reduce((sum, part) => sum + part, 0n);
  }

  async function payOut(clients: DevClient[]): Promise<void> {
    const last = await t.view('currentDraw');
    const { status } = await t.view<{ status: number }>('drawOf', last);
    if (status === 1) await t.call(t.owner, 'cancelDraw', last);
    if (status === 2) {
      await t.mine(300); // no hash any more
      await t.call(t.owner, 'completeDraw', last);
      await t.mine(2);
      await t.call(t.owner, 'completeDraw', last);
    }
    for (const client of clients) {
      for (const id of pools) {
        const balance = await t.view('balanceOf', id, client.account.address);
        if (balance > 0n) await t.call(client, 'withdraw', id, NO_REF, balance);
        const earned = await t.view('claimableOf', id, client.account.address);
        if (earned > 0n) await t.call(client, 'claimYield', id, NO_REF);
      }
      for (let id = 1n; id <= last; id++) {
        const back = await t.view('refundableOf', id, client.account.address);
        if (back > 0n) await t.call(client, 'refund', id);
      }
    }
    for (let id = 1n; id <= last; id++) await revertOf(t.call(t.owner, 'claimPrize', id));
  }

  it('leave no gap in seq, keep everything owed payable, and pay it all in the end', async () => {
    const random = fractions(SEED);
    const pick = <T>(items: T[]): T => items[Math.floor(random() * items.length)];
    const amount = (): bigint => BigInt(Math.floor(10 ** (random() * 12)));
    const clients = [t.owner, t.alice, t.bob];
    const done = new Map<string, number>();

    for (let i = 0; i < OPERATIONS; i++) {
      const client = pick(clients);
      const id = await t.view('currentDraw');
      const past = BigInt(Math.ceil(random() * Number(id)));
      const [name, args, by = client] = pick<[string, unknown[], DevClient?]>([
        ['deposit', [pick(pools), REF, amount()]],
        ['depositMany', [pools, [REF, NO_REF], [amount(), amount()]]],
        ['withdraw', [pick(pools), REF, amount()]],
        ['claimYield', [pick(pools), NO_REF]],
        ['accrueYield', [pick(pools), amount(), 450], t.owner],
        ['openDraw', [1n + amount() / 1000n, (await t.owner.getBlock()).timestamp + HOUR], t.owner],
        ['buyTickets', [id, BigInt(Math.ceil(random() * 50))]],
        ['buyTickets', [id, BigInt(Math.ceil(random() * 50))]],
        ['fundPrize', [id, amount()]],
        ['closeDraw', [id], t.owner],
        ['completeDraw', [id]],
        ['cancelDraw', [id], pick(clients)],
        ['refund', [past]],
        ['claimPrize', [past]],
      ]);
      if (name === 'closeDraw' && random() < 0.7) await t.passTime(HOUR);
      if ((await revertOf(t.call(by, name, ...args))) === undefined)
        done.set(name, (done.get(name) ?? 0) + 1);
      if (i % 5 === 0) expect(await t.tokens(t.pool)).toBeGreaterThanOrEqual(await owed(clients));
    }
    expect(done.size).toBeGreaterThan(10);

    const events = await t.events();
    expect(events.map(({ args }) => args.seq)).toEqual(events.map((_, index) => BigInt(index + 1)));
    expect(await t.view('seq')).toBe(BigInt(events.length));
    await payOut(clients);
    expect(await owed(clients)).toBe(0n);
    // Each share is rounded down once an accrual or settlement: less than one unit each time.
    expect(Number(await t.tokens(t.pool))).toBeLessThan(2 * OPERATIONS);
  });
});
