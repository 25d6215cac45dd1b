import { type Hex, decodeFunctionData } from 'viem';
import { bytes16 } from '#values/bytes16';
import { TYPE_WITH_CIRCLES, byPoolType } from '#values/types';
import { contractAbi, lotteryPoolAbi, savingsPoolAbi, tokenAbi } from '#ledger/chain/contract.abi';
import { circleAbi, rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import { CONTRACTS, type Response, type SignedIn, TEN, useApp } from '../support/app';
import { addDraw } from '../support/chain/draws';
import { REPAIRING, addPosition, addTransaction, newHash, quarantine } from '../support/ledger';

const MAX = 2n ** 256n - 1n;
const ten = BigInt(TEN);

interface Call {
  name: string;
  chainId: number;
  to: string;
  data: Hex;
  value: string;
}

/** These tests write indexed events by hand; those of test/client/payments send calls to a chain. */
describe('calls', () => {
  const TOKEN = `0x${'7'.repeat(40)}`;
  const app = useApp();
  let saver: SignedIn;
  let stranger: SignedIn;
  beforeAll(async () => {
    [saver, stranger] = [await app.signIn(), await app.signIn()];
    await app.sql(`INSERT INTO chain_facts VALUES (1, 5, '${TOKEN}', 'USD', 18)`);
    for (const contract of [CONTRACTS.cooperative, CONTRACTS.lottery])
      await app.sql(`INSERT INTO chain_tokens VALUES ('${contract}', '${TOKEN}', 'USD', 18)`);
    await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, minimum)
      VALUES ('cooperative', '${CONTRACTS.cooperative}', 0, 0, 1)`);
  });

  const newPool = (): Promise<{ id: string; depositId: string }> =>
    app.createPool(saver, { type: 'cooperative' });
  const calls = (pool: string, call: string, as = saver): Promise<Response> =>
    app.get(`/pools/${pool}/calls/${call}`, as);
  /** While the indexer has read and applied all blocks. */
  async function atHead<Result>(ask: () => Promise<Result>): Promise<Result> {
    await app.sql(`INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time,
      applied_number, state, beat_at, progress_at) VALUES (5, '', 9, '', '2026-03-01', 9, 'synced', now(), now())`);
    return ask().finally(() => app.sql('DELETE FROM chain_cursor'));
  }

  it('approve exactly what a deposit takes, and name its transaction', async () => {
    const { id, depositId } = await newPool();
    const { body } = await calls(id, `deposit?transaction=${depositId.toUpperCase()}&amount=0${TEN}`);
    const [approval, payment, ...others] = body.data.calls as Call[];
    expect(others).toEqual([]);
    expect([approval, payment]).toMatchObject([
      { name: 'approve', to: TOKEN, chainId: 5, value: '0' },
      { name: 'deposit', to: CONTRACTS.cooperative, chainId: 5, value: '0' },
    ]);
    const { args } = decodeFunctionData({ abi: tokenAbi, data: approval.data });
    expect([String(args[0]).toLowerCase(), args[1]]).toEqual([CONTRACTS.cooperative, ten]);
    expect(decodeFunctionData({ abi: savingsPoolAbi, data: payment.data })).toEqual({
      functionName: 'deposit',
      args: [bytes16(id), bytes16(depositId), ten],
    });
  });

  it('are refused for what the contract would refuse, and for nothing that it may accept', async () => {
    const { id } = await newPool();
    await addPosition(app, id, saver.address, { balance: 100, deposited: 100, owed: 3 });
    const [unknown, known] = [calls, (...args: [string, string]) => atHead(() => calls(...args))];
    await app.sql('UPDATE chain_contracts SET minimum = 10');
    for (const [ask, call, outcome] of [
      [unknown, 'deposit?amount=9', 'must be at least 10'],
      [unknown, 'deposit?amount=10', 200],
      [known, 'withdraw?amount=101', 'must be at most 100'],
      [unknown, 'withdraw?amount=101', 200],
      [known, 'withdraw?amount=9', 'must be at least 10, or all: 100'],
      [known, 'withdraw?amount=100', 200],
      [known, 'claim', 200],
    ] as const) {
      const { status, body } = await ask(id, call);
      expect([call, body.details?.[0].message ?? status]).toEqual([call, outcome]);
    }
    // While a payment is on its way, only the chain can tell what there is.
    const { id: sent } = await addTransaction(app, { poolId: id, account: saver.address, status: 'PENDING' });
    await app.post(`/transactions/${sent}/sent`, { hash: newHash() }, saver);
    expect((await known(id, 'withdraw?amount=101')).status).toBe(200);
    await app.sql('UPDATE submissions SET checks = 1');
    await app.send({ method: 'DELETE', url: `/transactions/${sent}/sent`, as: saver });
    await app.sql('UPDATE positions SET owed = 0, balance = 9');
    expect((await known(id, 'withdraw?amount=9')).status).toBe(200);
    expect((await known(id, 'claim')).body.code).toBe('nothing_to_claim');
    await app.sql('UPDATE chain_contracts SET minimum = 1');
  });

  it('are not refused because of the ledger while it lacks events of this contract alone', async () => {
    const { id } = await newPool();
    await addPosition(app, id, saver.address, { balance: 7, deposited: 7 });
    const asked = (): Promise<unknown[]> =>
      Promise.all(['withdraw?amount=8', 'claim'].map(async (call) => (await calls(id, call)).status));
    const known = (): Promise<unknown[]> => atHead(asked);
    expect(await known()).toEqual([409, 409]);
    await quarantine(app, CONTRACTS.cooperative);
    expect(await known()).toEqual([200, 200]);
    await app.sql('DELETE FROM chain_contracts_apart');
  });

  it('pay nothing into a contract that is quarantined, and pay into one that catches up', async () => {
    const { id } = await newPool();
    const asked = { type: 'cooperative', initialDeposit: TEN };
    const create = (key?: string) => app.post('/pools', asked, saver, key ? { 'idempotency-key': key } : {});
    const first = await create('used-before');
    await quarantine(app, CONTRACTS.cooperative);
    const { status, body, headers } = await calls(id, 'deposit?amount=7');
    expect([status, body.code]).toEqual([503, 'chain_unknown']);
    expect(headers['retry-after']).toBeDefined();
    const refused = await create();
    expect([refused.status, refused.body.code]).toEqual([503, 'chain_unknown']);
    expect(refused.headers['retry-after']).toBeDefined();
    expect((await create('used-before')).body).toEqual(first.body);
    expect((await create('refused-once')).status).toBe(503);
    const offered = async () => (await app.get('/config')).body.data.contractCalls[CONTRACTS.cooperative];
    expect(await offered()).toEqual(['withdraw', 'claim', 'compounding']);
    await app.sql(`UPDATE chain_contracts_apart SET state = 'catching_up'`);
    expect((await create()).status).toBe(201);
    expect((await create('refused-once')).status).toBe(201);
    expect((await calls(id, 'deposit?amount=7')).status).toBe(200);
    await app.sql('DELETE FROM chain_contracts_apart');
  });

  it('offer no withdrawal to an outsider whose deposit is only announced', async () => {
    const { id: poolId } = await app.createPool(stranger, { type: 'cooperative' });
    await addTransaction(app, { poolId, account: saver.address, status: 'PENDING' });
    for (const call of ['withdraw?amount=1', 'claim'])
      expect((await calls(poolId as string, call)).status).toBe(403);
  });

  it('go to the contract of the pool, even if new pools get another', async () => {
    const { id, depositId } = await newPool();
    await app.sql(`BEGIN; ${REPAIRING};
      UPDATE pools SET contract_address = '${CONTRACTS.lottery}' WHERE id = '${id}'; COMMIT`);
    for (const call of [`deposit?transaction=${depositId}`, 'withdraw?amount=1', 'claim'])
      expect((await calls(id, call)).body.data.calls.at(-1).to).toBe(CONTRACTS.lottery);
  });

  it('are named by the configuration, for each contract', async () => {
    await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, circles)
      VALUES ('${TYPE_WITH_CIRCLES}', '${CONTRACTS[TYPE_WITH_CIRCLES]}', 0, 0, true)`);
    const { body, headers } = await app.get('/config');
    expect(body.data).toMatchObject({
      ...{ chainId: 5, token: { address: TOKEN, symbol: 'USD', decimals: 18 }, contracts: CONTRACTS },
      contractMinimums: { cooperative: '1' },
      contractCalls: {
        [CONTRACTS.cooperative]: ['deposit', 'withdraw', 'claim', 'compounding'],
        [CONTRACTS[TYPE_WITH_CIRCLES]]: 'open join contribute payout refund endRound cancel'.split(' '),
      },
    });
    expect(headers['cache-control']).toBe('public, max-age=60');
  });

  it('tickets cost no more than an amount can be, and are sold until the draw time, unless the contract is quarantined', async () => {
    await app.sql(`INSERT INTO chain_contracts VALUES ('lottery', $1, 0, 1)`, [CONTRACTS.lottery]);
    await addDraw(app, 1, { status: 'ACTIVE', drawTime: '2999-01-01', contract: CONTRACTS.lottery });
    const tickets = (count: bigint | string) => app.get(`/lottery/calls/tickets?count=${count}`, saver);
    await app.sql(`UPDATE lottery_draws SET status = 'DRAWING'`);
    expect((await tickets('1')).body.code).toBe('no_open_draw');
    await app.sql(`UPDATE lottery_draws SET status = 'ACTIVE'`);
    const most = await atHead(() => tickets(MAX / 5n));
    expect((most.body.data.calls as Call[]).map(({ name }) => name)).toEqual(['approve', 'buyTickets']);
    for (const count of [MAX / 5n + 1n, MAX, '0', '-1', '1.5', '', MAX + 1n]) {
      const { status, body } = await atHead(() => tickets(count));
      expect([status, body.details[0].field]).toEqual([400, 'count']);
    }
    expect((await app.get('/lottery/calls/tickets', saver)).status).toBe(400);
    await quarantine(app, CONTRACTS.lottery);
    const refused = await atHead(() => tickets('1'));
    expect([refused.status, refused.body.code]).toEqual([503, 'chain_unknown']);
    await app.sql('DELETE FROM chain_contracts_apart');
    // Sales end with the first block at the draw time.
    await app.sql(`UPDATE lottery_draws SET draw_time = '2026-03-01'`);
    expect((await atHead(() => tickets('1'))).body.code).toBe('no_open_draw');
  });

  describe('refuses', () => {
    let pool: { id: string; depositId: string };
    beforeAll(async () => void (pool = await newPool()));

    it.each(['0', '000', '-1', '1.5', '0x1', '1e3', '', `${MAX + 1n}`, '1&amount=2'])(
      'the amount %s',
      async (amount) => {
        for (const call of ['deposit', 'withdraw']) {
          const { status, body } = await calls(pool.id, `${call}?amount=${amount}`);
          expect([status, body.error, body.details[0].field]).toEqual([400, 'Validation failed', 'amount']);
        }
      },
    );

    it('no amount at all, but takes the largest', async () => {
      expect((await calls(pool.id, 'deposit')).status).toBe(400);
      expect((await calls(pool.id, 'withdraw')).status).toBe(400);
      expect((await calls(pool.id, `deposit?amount=${MAX}`)).body.data.calls.at(-1).data).toContain(
        'f'.repeat(64),
      );
      expect((await atHead(() => calls(pool.id, `withdraw?amount=${MAX}`))).body.code).toBe(
        'insufficient_balance',
      );
    });

    it('an amount that is not that of the transaction', async () => {
      const { status, body } = await calls(
        pool.id,
        `deposit?transaction=${pool.depositId}&amount=${ten + 1n}`,
      );
      expect([status, body.details]).toEqual([
        400,
        [{ field: 'amount', message: `must be that of the transaction, ${TEN}` }],
      ]);
    });

    it('transactions of other pools and of other wallets', async () => {
      const status = async (transaction: string): Promise<number> =>
        (await calls(pool.id, `deposit?transaction=${transaction}`)).status;
      expect(await status((await newPool()).depositId)).toBe(404);
      expect(await status('00000000-0000-7000-8000-000000000000')).toBe(404);
      expect(await status('x')).toBe(404);
      const { id: poolId } = pool;
      const row = { poolId, status: 'PENDING' } as const;
      const other = await addTransaction(app, { ...row, account: stranger.address });
      expect(await status(other.id)).toBe(403);
      const out = await addTransaction(app, { poolId, account: saver.address, type: 'WITHDRAWAL' });
      expect(await status(out.id)).toBe(404);
    });

    it('a deposit that is confirmed or expired', async () => {
      const { id, depositId } = await newPool();
      await app.sql(
        `UPDATE transactions SET status = 'CONFIRMED', tx_hash = $2, block_number = 1, log_index = 0 WHERE id = $1`,
        [depositId, newHash()],
      );
      const { id: expired } = await addTransaction(app, {
        poolId: id,
        account: saver.address,
        status: 'EXPIRED',
      });
      for (const transaction of [depositId, expired]) {
        const { status, body } = await calls(id, `deposit?transaction=${transaction}`);
        expect([status, body.error]).toEqual([409, 'The deposit is not pending']);
      }
    });
  });
});

describe('before the chain is known', () => {
  const app = useApp();

  it('nothing can be called, and the configuration says so', async () => {
    const user = await app.signIn();
    const { id, depositId } = await app.createPool(user);
    for (const call of [
      `deposit?transaction=${depositId}`,
      'deposit?amount=1',
      'withdraw?amount=1',
      'claim',
    ]) {
      const { status, body, headers } = await app.get(`/pools/${id}/calls/${call}`, user);
      expect([status, body.error]).toEqual([503, 'The chain is not known yet']);
      expect(headers['retry-after']).toBeDefined();
    }
    expect((await app.get('/lottery/calls/tickets?count=1', user)).status).toBe(503);
    const { body, headers } = await app.get('/config');
    expect(body.data).toMatchObject({ chainId: null, chain: null, token: null });
    // Nobody keeps that for a minute.
    expect(headers['cache-control']).toBe('no-store');
  });

  it('a token that could not be read hinders payments only', async () => {
    const user = await app.signIn();
    const { id } = await app.createPool(user);
    await app.sql('INSERT INTO chain_facts (chain_id) VALUES (5)');
    expect((await app.get(`/pools/${id}/calls/deposit?amount=1`, user)).status).toBe(503);
    expect((await app.get(`/pools/${id}/calls/claim`, user)).body.data.calls[0].chainId).toBe(5);
    expect((await app.get('/config')).body.data).toMatchObject({
      ...{ chainId: 5, token: null },
      chain: { id: 5, name: 'Chain 5', rpcUrls: [], explorerUrl: null },
    });
    await app.sql('DELETE FROM chain_facts');
  });
});

describe('the configuration', () => {
  const [OLD, NEW, OTHER, FURTHER] = ['aa', 'bb', 'cc', 'dd'].map((byte) => `0x${byte.repeat(20)}`);
  const newest = { ...byPoolType(() => OTHER), individual: NEW };
  const named = Object.entries(newest).map(([type, address]) => `${type}=${address}`);
  const contracts = [`individual=${OLD}`, ...named, `lottery+=${FURTHER}`].join();
  const local = { NODE_ENV: 'development', RPC_URL: 'http://127.0.0.1:8545' };
  const app = useApp({
    ...local,
    POOL_CONTRACTS: contracts,
    MIN_DEPOSIT: '0010',
    CHAIN_ID: '31337',
    SIWE_DOMAINS: 'app.example.org',
    CORS_ORIGINS: 'https://app.example.org',
  });

  it('says what a client has to keep to', async () => {
    const { status, body } = await app.get('/config');
    expect(status).toBe(200);
    expect(body.data).toEqual({
      chainId: null,
      chain: null,
      publicStatistics: false,
      token: null,
      contractMinimums: byPoolType(() => null),
      contractCalls: {},
      contractsByAccount: [],
      contracts: newest,
      furtherContracts: { ...byPoolType(() => []), lottery: [FURTHER] },
      formerContracts: { ...byPoolType(() => []), individual: [OLD] },
      contractTokens: {},
      minimumDeposits: {},
      minimumDeposit: '10',
      signIn: {
        domains: ['app.example.org'],
        chainId: 31337,
        nonceLifetimeSeconds: 600,
        tokenLifetimeSeconds: 604_800,
      },
      rpcUrl: 'http://127.0.0.1:8545',
    });
  });

  it('may be read by pages of known origins, whose answers caches keep apart', async () => {
    const { headers } = await app.get('/config/abi', undefined, { origin: 'https://app.example.org' });
    expect(headers['access-control-allow-origin']).toBe('https://app.example.org');
    expect(headers.vary).toMatch(/origin/i);
  });

  it('has the ABI that the calls are encoded by', async () => {
    const { body, headers } = await app.get('/config/abi');
    expect(body.data).toEqual(
      JSON.parse(
        JSON.stringify({
          savingsPool: savingsPoolAbi,
          lotteryPool: lotteryPoolAbi,
          rotatingPool: rotatingPoolAbi,
          token: tokenAbi,
        }),
      ),
    );
    expect(body.data.lotteryPool).toEqual(
      expect.arrayContaining(JSON.parse(JSON.stringify(contractAbi)) as unknown[]),
    );
    expect(body.data.rotatingPool).toEqual(
      expect.arrayContaining(JSON.parse(JSON.stringify(circleAbi)) as unknown[]),
    );
    expect(headers['cache-control']).toBe('public, max-age=3600');
  });
});
