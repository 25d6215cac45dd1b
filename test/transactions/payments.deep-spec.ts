import { TYPE_WITH_CIRCLES, byPoolType } from '#values/types';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pino from 'pino';
import { parseEther } from 'viem';
import { bytes16 } from '#values/bytes16';
import { createIndexer } from '#indexer/indexer.setup';
import { type DevClient, connect, devAccount, execute, read, receiptOf } from '#dev/deploy';
import { type Response, type SignedIn, TEN, TestApp, until, indexerSettings } from '../support/app';
import { ChainBench, eventually } from '../support/chain/chain-bench';
import { REPAIRING, addTransaction } from '../support/ledger';
import type { Wallet } from '../support/wallet';

const ten = BigInt(TEN);
/** Seconds until a draw of these tests ends. */
const DRAW_SECONDS = 3600n;

interface Call {
  name: string;
  chainId: number;
  to: `0x${string}`;
  data: `0x${string}`;
  value: string;
}

/** A wallet does what the API says, and the indexer sees it on a real chain. */
describe('calls', () => {
  const bench = new ChainBench();
  const app = new TestApp();
  let indexer: NestFastifyApplication;
  /** Has tokens, but has let no contract take any. */
  let client: DevClient;
  let saver: SignedIn;
  let stranger: SignedIn;

  beforeAll(async () => {
    await app.start({}, undefined, async (database) => {
      await bench.start(database);
      return bench.settings();
    });
    client = await connect(bench.anvil.url, devAccount(5));
    saver = await app.signIn(devAccount(5) as unknown as Wallet);
    stranger = await app.signIn();
    await execute(client, 'TestToken', bench.deployment.token, 'mint', [saver.address, parseEther('1000')]);
    const environment = indexerSettings(app.database.url, bench.settings());
    indexer = await createIndexer(environment, pino({ level: 'silent' }));
    await bench.atHead();
  });
  afterAll(async () => {
    await indexer?.close();
    await bench.stop();
    await app.stop();
  });

  /** Sends the calls one after another, as a wallet would. */
  async function send({ body }: Response): Promise<string[]> {
    const { calls } = body.data as { calls: Call[] };
    let [block, last] = [0n, ''];
    for (const { chainId, to, data, value } of calls) {
      expect(chainId).toBe(client.chain.id);
      const hash = await client.sendTransaction({ to, data, value: BigInt(value) });
      const { status, blockNumber } = await receiptOf(client, hash);
      expect(status).toBe('success');
      [block, last] = [blockNumber, hash];
    }
    // The node may name an earlier block as its head for a moment.
    await bench.atHead(block);
    // It may also name a block before it tells its events. The indexer finds those later, by the contract's count.
    await until(async () => (await app.sql(`SELECT FROM chain_events WHERE tx_hash = '${last}'`)).length > 0);
    return calls.map(({ name }) => name);
  }
  const statuses = async (pool: string): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await app.get(`/transactions?poolId=${pool}`, saver)).body.data.map(
        ({ id, type, status }: Record<string, string>) => [type === 'DEPOSIT' ? id : type, status],
      ),
    );
  const allowance = (spender: string): Promise<bigint> =>
    read(client, 'TestToken', bench.deployment.token, 'allowance', [saver.address, spender]);
  const newPool = (fields: Record<string, unknown> = {}): Promise<{ id: string; depositId: string }> =>
    app.createPool(saver, { type: 'cooperative', ...fields });
  const pending = (poolId: string, amount = TEN): Promise<{ id: string }> =>
    addTransaction(app, { poolId, account: saver.address, amount, status: 'PENDING' });
  const calls = (pool: string, call: string, as = saver): Promise<Response> =>
    app.get(`/pools/${pool}/calls/${call}`, as);
  /** Nothing is refused while the indexer has not looked for a while, as on a busy machine. */
  const refusal = (pool: string, call: string): Promise<Response> =>
    eventually(
      'a refusal',
      () => calls(pool, call),
      ({ status }) => status !== 200,
    );

  it('a deposit with a transaction pays just that one', async () => {
    const { id, depositId } = await newPool();
    const { id: second } = await pending(id);
    const answer = await calls(id, `deposit?transaction=${second}`);
    expect(await send(answer)).toEqual(['approve', 'deposit']);
    expect(await statuses(id)).toEqual({ [depositId]: 'PENDING', [second]: 'CONFIRMED' });
    expect(await allowance(bench.deployment.contracts.cooperative)).toBe(0n);

    // In any case, and with the amount in any form.
    await send(await calls(id, `deposit?transaction=${depositId.toUpperCase()}&amount=0${TEN}`));
    expect(await statuses(id)).toEqual({ [depositId]: 'CONFIRMED', [second]: 'CONFIRMED' });
  });

  it('a deposit without one is a transaction of its own, and member and owner may pay', async () => {
    const owner = await app.signIn();
    const { id } = await app.createPool(owner, { type: 'cooperative', members: [saver.address] });
    await send(await calls(id, 'deposit?amount=7'));
    const { body } = await app.get(`/transactions?poolId=${id}`, owner);
    const found = body.data.map(({ amount, status }: Record<string, string>) => `${status} ${amount}`);
    expect(found.sort()).toEqual(['CONFIRMED 7', `PENDING ${TEN}`]);
  });

  it('withdraw and claim pay out what the wallet has', async () => {
    const { id, depositId } = await newPool();
    await send(await calls(id, `deposit?transaction=${depositId}`));
    // Yield is shared by the seconds that the money was there.
    await bench.rpc('evm_increaseTime', 60);
    await bench.call(bench.owner, 'accrueYield', [bytes16(id), 500n, 100]);
    expect(await send(await calls(id, 'claim'))).toEqual(['claimYield']);
    expect(await send(await calls(id, `withdraw?amount=${ten - 1n}`))).toEqual(['withdraw']);
    expect(await statuses(id)).toEqual({
      [depositId]: 'CONFIRMED',
      YIELD_CLAIM: 'CONFIRMED',
      WITHDRAWAL: 'CONFIRMED',
    });
    expect((await app.get(`/pools/${id}`, saver)).body.data.balance).toBe('1');
    for (const [call, code] of [
      ['withdraw?amount=2', 'insufficient_balance'],
      ['claim', 'nothing_to_claim'],
    ])
      expect((await refusal(id, call)).body.code).toBe(code);
    const { body } = await app.get(`/transactions?poolId=${id}&type=WITHDRAWAL`, saver);
    expect((await calls(id, `deposit?transaction=${body.data[0].id}`)).status).toBe(404);
  });

  it('nothing is refused for what the ledger says while it lacks events of the contract alone', async () => {
    const { id, depositId } = await newPool();
    await send(await calls(id, `deposit?transaction=${depositId}`));
    await app.sql(
      `INSERT INTO chain_contracts_apart (address, block_number, block_hash, block_time, state, reason)
       VALUES ($1, 1, '0x', '2026-01-01', 'quarantined', 'a test')`,
      [bench.deployment.contracts.cooperative.toLowerCase()],
    );
    // Its last event is behind the place from where it is read on, and another block behind that.
    await bench.rpc('evm_mine');
    await bench.atHead();
    const [last] = await app.sql<{ number: number; time: Date }>(
      'SELECT block_number::int AS number, block_time AS time FROM chain_events ORDER BY block_number DESC LIMIT 1',
    );
    const position = async (): Promise<unknown> => {
      const { blockNumber, blockTime } = (await app.get(`/pools/${id}/position`, saver)).body.data;
      const [listed] = (await app.get('/users/me/positions', saver)).body.data;
      expect(listed).toMatchObject({ blockNumber, blockTime });
      return [blockNumber, blockTime];
    };
    try {
      expect((await calls(id, `withdraw?amount=${ten + 1n}`)).status).toBe(200);
      expect((await calls(id, 'claim')).status).toBe(200);
      expect(await position()).toEqual([last.number, last.time.toISOString()]);
    } finally {
      await app.sql('DELETE FROM chain_contracts_apart');
    }
    expect((await refusal(id, `withdraw?amount=${ten + 1n}`)).body.code).toBe('insufficient_balance');
    expect(await position()).not.toEqual([last.number, last.time.toISOString()]);
  });

  it('whoever has money in a pool gets it out: who has left, and who paid in from outside', async () => {
    const owner = await app.signIn();
    const { id } = await app.createPool(owner, { type: 'cooperative', members: [saver.address] });
    await send(await calls(id, 'deposit?amount=7'));
    const left = await app.send({ method: 'DELETE', url: `/pools/${id}/membership`, as: saver });
    expect(left.status).toBe(200);
    expect((await app.get(`/pools/${id}`, saver)).status).toBe(403);
    const { id: others } = await app.createPool(owner, { type: 'cooperative' });
    await execute(client, 'TestToken', bench.deployment.token, 'approve', [
      bench.deployment.contracts.cooperative,
      7n,
    ]);
    expect((await calls(others, 'withdraw?amount=7')).status).toBe(403);
    await bench.call(client, 'deposit', [bytes16(others), bytes16('0'.repeat(32)), 7n]);
    await bench.atHead();
    for (const pool of [id, others]) {
      // Nobody else, and nothing that pays in.
      expect((await calls(pool, 'withdraw?amount=7', stranger)).status).toBe(403);
      expect((await calls(pool, 'claim', stranger)).status).toBe(403);
      expect((await calls(pool, 'deposit?amount=7')).status).toBe(403);
      await bench.rpc('evm_increaseTime', 60);
      await bench.call(bench.owner, 'accrueYield', [bytes16(pool), 5n, 100]);
      expect(await send(await calls(pool, 'withdraw?amount=7'))).toEqual(['withdraw']);
      // What it earned, though the balance is zero.
      expect(await send(await calls(pool, 'claim'))).toEqual(['claimYield']);
      const { balance, claimed } = (await app.get(`/pools/${pool}/position`, saver)).body.data;
      expect([balance, claimed]).toEqual(['0', '4']);
    }
  });

  it('a deposit that is announced only gives an outsider nothing', async () => {
    const { id } = await app.createPool(await app.signIn(), { type: 'cooperative' });
    await pending(id);
    for (const call of ['withdraw?amount=1', 'claim']) expect((await calls(id, call)).status).toBe(403);
  });

  it('goes to the contract of the pool, whichever new pools get', async () => {
    const { individual: other } = bench.deployment.contracts;
    const { id, depositId } = await newPool();
    await app.sql(`BEGIN; ${REPAIRING};
      UPDATE pools SET contract_address = '${other.toLowerCase()}' WHERE id = '${id}'; COMMIT`);
    const goesThere = async (call: string): Promise<void> => {
      const { body } = await calls(id, call);
      expect((body.data.calls as Call[]).at(-1)!.to).toBe(other.toLowerCase());
    };
    await goesThere(`deposit?transaction=${depositId}`);
    expect(await send(await calls(id, `deposit?transaction=${depositId}`))).toHaveLength(2);
    expect(await statuses(id)).toEqual({ [depositId]: 'CONFIRMED' });
    await bench.rpc('evm_increaseTime', 60);
    await execute(bench.owner, 'TestToken', bench.deployment.token, 'approve', [other, 500n]);
    await execute(bench.owner, 'SavingsPool', other, 'accrueYield', [bytes16(id), 500n, 100]);
    for (const call of ['withdraw?amount=1', 'claim']) await goesThere(call);
  });

  describe('tickets', () => {
    const tickets = (count: string | bigint, as = saver): Promise<Response> =>
      app.get(`/lottery/calls/tickets?count=${count}`, as);
    const NO_DRAW = { success: false, error: 'No draw is open', code: 'no_open_draw' };

    async function openDraw(price: bigint): Promise<bigint> {
      const { timestamp } = await bench.owner.getBlock();
      await bench.lottery(bench.owner, 'openDraw', [price, timestamp + DRAW_SECONDS]);
      await bench.atHead();
      return bench.currentDraw();
    }

    it('are bought in the current draw, until its time has come', async () => {
      expect((await tickets(1n)).body).toMatchObject(NO_DRAW);
      const draw = await openDraw(parseEther('2'));
      expect(await send(await tickets(3n))).toEqual(['approve', 'buyTickets']);
      const { lottery } = bench.deployment.contracts;
      expect(await read(client, 'LotteryPool', lottery, 'ticketsOf', [draw, saver.address])).toBe(3n);
      expect((await app.get('/lottery/current', saver)).body.data.totalTickets).toBe(3);
      expect(await allowance(lottery)).toBe(0n);

      // The sale is over by the chain's time, though the draw is not closed.
      await bench.rpc('evm_increaseTime', Number(DRAW_SECONDS));
      await bench.mine(1);
      await bench.atHead();
      expect((await tickets(1n)).body).toMatchObject(NO_DRAW);
      await bench.lottery(bench.owner, 'closeDraw', [draw]);
      await bench.atHead();
      expect((await tickets(1n)).status).toBe(404);
      await bench.mine(2);
      await bench.lottery(bench.owner, 'completeDraw', [draw]);
    });
  });

  it('the configuration names chain, token and contracts', async () => {
    const { body, headers } = await app.get('/config');
    const lower = Object.entries(bench.deployment.contracts).map(([type, at]) => [type, at.toLowerCase()]);
    expect(body.data).toMatchObject({
      chainId: client.chain.id,
      chain: { id: client.chain.id, currency: { symbol: 'ETH', decimals: 18 } },
      token: { address: bench.deployment.token.toLowerCase(), symbol: 'TEST', decimals: 18 },
      contracts: Object.fromEntries(lower),
      contractMinimums: byPoolType(() => '1'),
      contractCalls: Object.fromEntries(
        lower.map(([type, at]) => [
          at,
          type === TYPE_WITH_CIRCLES
            ? ['open', 'join', 'contribute', 'payout', 'refund', 'endRound', 'cancel']
            : ['deposit', 'withdraw', 'claim', 'compounding'],
        ]),
      ),
    });
    expect(headers['cache-control']).toBe('public, max-age=60');
  });
});
