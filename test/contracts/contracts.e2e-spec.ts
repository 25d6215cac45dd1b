import { encodeAbiParameters, keccak256 } from 'viem';
import { startAnvil } from '#dev/anvil';
import { connect, deployContracts, read, seedDraws } from '#dev/deploy';
import {
  ContractBench,
  HOUR,
  NO_REF,
  OTHER_POOL,
  POOL,
  PRICE,
  REF,
  revertOf,
} from '../support/chain/contracts';

let t: ContractBench;

beforeAll(async () => {
  t = await ContractBench.start();
});
beforeEach(() => t.newPool());
afterAll(() => t?.anvil.stop());

describe('savings', () => {
  it('gives back what was put in, and no more', async () => {
    await t.call(t.alice, 'deposit', POOL, REF, 100n);
    await t.call(t.bob, 'deposit', POOL, NO_REF, 50n);
    expect(await t.view('totalOf', POOL)).toBe(150n);
    expect(await revertOf(t.call(t.alice, 'withdraw', POOL, REF, 101n))).toBe('InsufficientBalance');
    expect(await revertOf(t.call(t.alice, 'withdraw', OTHER_POOL, REF, 1n))).toBe('InsufficientBalance');
    expect(await revertOf(t.call(t.owner, 'withdraw', POOL, REF, 1n))).toBe('InsufficientBalance');
    expect(await revertOf(t.call(t.alice, 'deposit', POOL, REF, 0n))).toBe('ZeroAmount');
    expect(await revertOf(t.call(t.alice, 'withdraw', POOL, REF, 0n))).toBe('ZeroAmount');
    await t.call(t.alice, 'withdraw', POOL, REF, 100n);
    expect([await t.view('totalOf', POOL), await t.tokens(t.pool)]).toEqual([50n, 50n]);

    const [deposited, , withdrawn] = await t.events();
    const args = { poolId: POOL, ref: REF, account: t.alice.account.address, amount: 100n };
    expect(deposited).toMatchObject({ eventName: 'Deposited', args: { ...args, seq: 1n } });
    expect(withdrawn).toMatchObject({ eventName: 'Withdrawn', args: { ...args, seq: 3n } });
  });

  it('shares yield by balance and time since the last accrual, and keeps the remainder', async () => {
    await t.call(t.alice, 'deposit', POOL, NO_REF, 200n);
    await t.after(100n);
    await t.call(t.bob, 'deposit', POOL, NO_REF, 100n);
    await t.after(100n);
    await t.call(t.owner, 'accrueYield', POOL, 100n, 450); // weights 40,000 and 10,000
    expect(await t.view('claimableOf', POOL, t.alice.account.address)).toBe(79n);
    expect(await t.view('claimableOf', POOL, t.bob.account.address)).toBe(19n);
    await t.after(100n);
    await t.call(t.alice, 'withdraw', POOL, NO_REF, 200n);
    await t.after(100n);
    await t.call(t.owner, 'accrueYield', POOL, 100n, 450); // 20,000 for the time before she left, and 20,000
    await t.after(500n);
    await t.call(t.owner, 'accrueYield', POOL, 10n, 450);
    expect(await t.view('claimableOf', POOL, t.alice.account.address)).toBe(128n);
    expect(await t.view('claimableOf', POOL, t.bob.account.address)).toBe(78n);
    await t.call(t.alice, 'claimYield', POOL, REF);
    await t.call(t.bob, 'claimYield', POOL, REF);
    expect(await t.tokens(t.pool)).toBe(100n + 4n);
    expect(await revertOf(t.call(t.alice, 'claimYield', POOL, REF))).toBe('NothingToClaim');
    const claimed = (await t.events()).filter((event) => event.eventName === 'YieldClaimed');
    expect(claimed.map(({ args }) => args.amount)).toEqual([128n, 78n]);
  });

  it('takes yield from the owner alone, who pays for it', async () => {
    expect(await revertOf(t.call(t.owner, 'accrueYield', POOL, 10n, 450))).toBe('NoDeposits');
    await t.call(t.alice, 'deposit', POOL, NO_REF, 200n);
    expect(await revertOf(t.call(t.alice, 'accrueYield', POOL, 10n, 450))).toBe('OwnableUnauthorizedAccount');
    expect(await revertOf(t.call(t.owner, 'accrueYield', POOL, 0n, 450))).toBe('ZeroAmount');
    const before = await t.tokens(t.owner.account.address);
    await t.passTime(1n);
    await t.call(t.owner, 'accrueYield', POOL, 10n, 450);
    expect(await t.tokens(t.owner.account.address)).toBe(before - 10n);
  });

  it('makes many deposits with one transfer', async () => {
    const receipt = await t.call(t.alice, 'depositMany', [POOL, OTHER_POOL], [REF, NO_REF], [1n, 2n]);
    expect(receipt.logs.map(({ address }) => address)).toEqual([t.pool, t.pool, t.token]);
    expect([await t.view('totalOf', POOL), await t.view('totalOf', OTHER_POOL)]).toEqual([1n, 2n]);
    expect(await t.tokens(t.pool)).toBe(3n);
    const many = (pools: string[], refs: string[]) =>
      revertOf(t.call(t.alice, 'depositMany', pools, refs, Array(pools.length).fill(1n)));
    expect(await many([POOL], [REF, REF])).toBe('LengthMismatch');
    for (const pools of [
      [POOL, POOL],
      [OTHER_POOL, POOL],
      [POOL, OTHER_POOL, POOL],
    ])
      expect(await many(pools, Array(pools.length).fill(NO_REF))).toBe('PoolsNotAscending');
  });
});

describe('draws', () => {
  it('gives the whole prize to the holder of the ticket the block hash picks', async () => {
    const drawId = await t.openDraw();
    expect(await revertOf(t.openDraw())).toBe('WrongStatus');
    await t.call(t.alice, 'buyTickets', drawId, 3n);
    await t.call(t.bob, 'buyTickets', drawId, 2n);
    await t.call(t.bob, 'fundPrize', drawId, 7n);
    expect(await revertOf(t.call(t.owner, 'closeDraw', drawId))).toBe('TooEarly');
    await t.passTime(HOUR);
    expect(await revertOf(t.call(t.alice, 'buyTickets', drawId, 1n))).toBe('DrawTimePassed');
    expect(await revertOf(t.call(t.alice, 'closeDraw', drawId))).toBe('OwnableUnauthorizedAccount');
    const { blockNumber } = await t.call(t.owner, 'closeDraw', drawId);
    expect(await revertOf(t.call(t.owner, 'cancelDraw', drawId))).toBe('WrongStatus');
    expect(await revertOf(t.call(t.alice, 'fundPrize', drawId, 1n))).toBe('WrongStatus');
    await t.mine(2);
    await t.call(t.alice, 'completeDraw', drawId);

    const { hash } = await t.owner.getBlock({ blockNumber: blockNumber + 1n });
    const types = [{ type: 'bytes32' }, { type: 'address' }, { type: 'uint64' }];
    const ticket = BigInt(keccak256(encodeAbiParameters(types, [hash, t.pool, drawId]))) % 5n;
    const winner = (ticket < 3n ? t.alice : t.bob).account.address;
    const prize = 5n * PRICE + 7n;
    expect((await t.events()).at(-1)).toMatchObject({
      eventName: 'DrawCompleted',
      args: { drawId, winner, prize },
    });
    const before = await t.tokens(winner);
    await t.call(t.owner, 'claimPrize', drawId);
    expect([(await t.tokens(winner)) - before, await t.tokens(t.pool)]).toEqual([prize, 0n]);
    expect((await t.events()).at(-1)).toMatchObject({
      eventName: 'PrizePaid',
      args: { drawId, winner, amount: prize, seq: await t.view('seq') },
    });
    expect(await revertOf(t.call(t.owner, 'claimPrize', drawId))).toBe('NothingToClaim');
    expect(await revertOf(t.call(t.alice, 'refund', drawId))).toBe('NothingToRefund');
    expect(await t.openDraw()).toBe(drawId + 1n);
  });

  it('refunds tickets and gifts of a cancelled draw, once', async () => {
    const drawId = await t.openDraw();
    await t.call(t.alice, 'buyTickets', drawId, 3n);
    await t.call(t.bob, 'fundPrize', drawId, 7n);
    expect(await revertOf(t.call(t.alice, 'refund', drawId))).toBe('NothingToRefund');
    expect(await revertOf(t.call(t.alice, 'cancelDraw', drawId))).toBe('NotAllowed');
    await t.call(t.owner, 'cancelDraw', drawId);
    const before = await t.tokens(t.alice.account.address);
    await t.call(t.alice, 'refund', drawId);
    await t.call(t.bob, 'refund', drawId);
    expect([(await t.tokens(t.alice.account.address)) - before, await t.tokens(t.pool)]).toEqual([
      3n * PRICE,
      0n,
    ]);
    const seq = await t.view('seq');
    expect((await t.events()).slice(-2).map(({ eventName, args }) => ({ eventName, args }))).toEqual([
      {
        eventName: 'Refunded',
        args: { drawId, account: t.alice.account.address, amount: 3n * PRICE, seq: seq - 1n },
      },
      { eventName: 'Refunded', args: { drawId, account: t.bob.account.address, amount: 7n, seq } },
    ]);
    expect(await revertOf(t.call(t.alice, 'refund', drawId))).toBe('NothingToRefund');
    expect(await revertOf(t.call(t.alice, 'buyTickets', drawId, 1n))).toBe('WrongStatus');
  });
});

describe('a development chain', () => {
  it('has a contract for each pool type, a finished draw and an open one', async () => {
    const anvil = await startAnvil({ chainId: 4242 });
    try {
      const deployment = await deployContracts(anvil.url);
      const { contracts, startBlock, genesisHash } = deployment;
      expect(new Set(Object.values(contracts)).size).toBe(4);
      const draws = await seedDraws(anvil.url, deployment);
      expect(draws).toEqual({ finished: 1n, open: 2n });

      const client = await connect(anvil.url);
      expect(await client.getChainId()).toBe(4242);
      expect((await client.getBlock({ blockNumber: 0n })).hash).toBe(genesisHash);
      const all = await client.getLogs({ address: Object.values(contracts), fromBlock: 0n });
      expect(Number(all[0].blockNumber)).toBeGreaterThanOrEqual(startBlock);
      const drawOf = (id: bigint) => read(client, 'LotteryPool', contracts.lottery, 'drawOf', [id]);
      expect(await drawOf(1n)).toMatchObject({ status: 3, tickets: 10n, paid: true });
      expect(await drawOf(2n)).toMatchObject({ status: 1, tickets: 10n, paid: false });
      const { timestamp } = await client.getBlock();
      expect(Number(timestamp)).toBeLessThan(Date.now() / 1000 + 60);
    } finally {
      await anvil.stop();
    }
  });
});
