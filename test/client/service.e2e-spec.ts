import {
  ApiError,
  DepositBelowMinimumError,
  DepositSubmittedError,
  type ErrorCode,
  type PaymentKind,
  type PaymentRequest,
  SavingsClient,
  type SavingsError,
  isSavingsError,
  memoryTokens,
  webTokens,
} from '@pooled-savings/client';
import { type Hex, createWalletClient, custom, hexToString } from 'viem';
import { TEN, jwt, until, useApp } from '../support/app';
import { LOTTERY, addDraw, addEntry, knowLottery } from '../support/chain/draws';
import { Receiver } from '../support/events/receiver';
import { goForward } from '../support/events/webhooks';
import { addPosition, addTransaction } from '../support/ledger';
import { type Wallet, newWallet } from '../support/wallet';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
let baseUrl: string;
beforeAll(async () => {
  await app.listen();
  baseUrl = `http://127.0.0.1:${app.port}`;
});

const DEPOSIT = { type: 'individual', initialDeposit: TEN } as const;

/** What a browser's wallet is to a page: EIP-1193, nothing else. */
function providerOf(wallet: Wallet, chainId = '0x7a69') {
  const asked: string[] = [];
  const request = async ({ method, params }: { method: string; params?: any }): Promise<any> => {
    asked.push(method);
    if (method === 'eth_requestAccounts' || method === 'eth_accounts') return [wallet.address.toLowerCase()];
    if (method === 'eth_chainId') return chainId;
    if (method === 'personal_sign') return wallet.signMessage({ message: hexToString(params[0] as Hex) });
    throw new Error(`no ${method} here`);
  };
  return { asked, request: request as never };
}

async function signedIn(options: Partial<ConstructorParameters<typeof SavingsClient>[0]> = {}) {
  const client = new SavingsClient({ baseUrl, ...options });
  const wallet = newWallet();
  const user = await client.signIn(wallet);
  return { client, wallet, user };
}

async function errorOf(promise: Promise<unknown>): Promise<SavingsError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isSavingsError(error)) throw new Error(`not an error of the client: ${String(error)}`);
  return error;
}

describe('signing in', () => {
  it.each([
    ['an account', (wallet: Wallet) => wallet],
    ["a browser's wallet", (wallet: Wallet) => providerOf(wallet)],
    [
      'a wallet client with an account',
      (wallet: Wallet) => createWalletClient({ account: wallet, transport: custom(providerOf(wallet)) }),
    ],
    [
      'a wallet client without one',
      (wallet: Wallet) => createWalletClient({ transport: custom(providerOf(wallet)) }),
    ],
  ])('works with %s', async (_what, signerOf) => {
    const wallet = newWallet();
    const client = new SavingsClient({ baseUrl: `${baseUrl}/` });
    const user = await client.signIn(signerOf(wallet));
    expect(user.address).toBe(wallet.address.toLowerCase());
    expect(await client.account.me()).toMatchObject({ id: user.id });
  });

  it('keeps the token where it is told to, and forgets it when signing out', async () => {
    const kept = new Map<string, string>();
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    };
    const { client } = await signedIn({ tokens: webTokens(storage) });
    const [token] = [...kept.values()];
    expect(await client.isSignedIn()).toBe(true);
    // Another visit finds it.
    const later = new SavingsClient({ baseUrl, tokens: webTokens(storage) });
    await later.pools.list();
    await later.signOut();
    expect(kept.size).toBe(0);
    const stolen = new SavingsClient({ baseUrl, tokens: memoryTokens(token) });
    expect((await errorOf(stolen.pools.list())).code).toBe('token_revoked');
  });

  it('signs out of all sessions', async () => {
    const { client, wallet } = await signedIn();
    const other = new SavingsClient({ baseUrl });
    await other.signIn(wallet);
    await client.signOut({ everywhere: true });
    expect((await errorOf(other.pools.list())).code).toBe('token_revoked');
  });

  describe('again', () => {
    const expired = (userId: string, address: string): string => {
      const iat = Math.floor(Date.now() / 1000) - 1000;
      return jwt({ userId, address, iat, exp: iat + 1 });
    };

    it('happens once, by itself, if asked for', async () => {
      const wallet = newWallet();
      const provider = providerOf(wallet);
      const client = new SavingsClient({ baseUrl });
      const { id, address } = await client.signIn(provider, { renew: true });
      await client.tokens.set(expired(id, address));
      const answers = await Promise.all([1, 2, 3].map(() => client.account.me()));
      expect(answers.map((me) => me.id)).toEqual([id, id, id]);
      expect(provider.asked.filter((method) => method === 'personal_sign')).toHaveLength(2);
    });

    it('does not happen otherwise', async () => {
      const { client, user } = await signedIn();
      await client.tokens.set(expired(user.id, user.address));
      expect((await errorOf(client.account.me())).code).toBe('token_expired');
    });
  });
});

describe('lists', () => {
  it('are read to their end', async () => {
    const { client } = await signedIn();
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift((await client.pools.create(DEPOSIT)).id);
    for (const limit of [1, 2, 5, 100]) {
      const found: string[] = [];
      for await (const { id } of client.pools.all({ limit })) found.push(id);
      expect(found).toEqual(made);
    }
    const statuses: string[] = [];
    for await (const { status } of client.transactions.all({ limit: 2 })) statuses.push(status);
    expect(statuses).toEqual(Array(5).fill('PENDING'));
  });

  it('are read no further than asked for', async () => {
    let sent = 0;
    const counting: typeof fetch = (...args) => (sent++, fetch(...args));
    const { client } = await signedIn({ fetch: counting });
    for (let i = 0; i < 3; i++) await client.pools.create(DEPOSIT);
    sent = 0;
    for await (const pool of client.pools.all({ limit: 1 })) if (pool.id) break;
    expect(sent).toBe(1);
  });
});

describe('errors', () => {
  it('are told apart by code', async () => {
    const { client } = await signedIn();
    const refused = await errorOf(client.pools.create({ ...DEPOSIT, initialDeposit: '1' }));
    expect(refused).toMatchObject({ code: 'deposit_below_minimum', status: 400 });
    const wrong = await errorOf(client.pools.list({ limit: 1000 }));
    if (wrong.code !== 'validation_failed') throw wrong;
    expect(wrong.details).toEqual([expect.objectContaining({ field: 'limit' })]);
    expect(wrong.requestId).toMatch(/./);
    expect((await errorOf(client.lottery.current())).code).toBe('no_open_draw');
    expect((await errorOf(client.pools.get('x'))).code).toBe('not_found');
    expect((await errorOf(client.api.GET('/pools/{id}', { params: { path: { id: 'x' } } }))).code).toBe(
      'not_found',
    );
    expect(await errorOf(new SavingsClient({ baseUrl }).account.me())).toMatchObject({
      code: 'invalid_token',
      status: 401,
    });
  });

  it('with a code of the service are ApiErrors, whether client or service made them', () => {
    const notApiErrors: Extract<Exclude<SavingsError, ApiError>['code'], ErrorCode>[] = [];
    expect(notApiErrors).toEqual([]);
    const hash = `0x${'1'.repeat(64)}` as const;
    for (const [error, fields] of [
      [new DepositSubmittedError('id', hash), { code: 'deposit_submitted', status: 409, hash }],
      [new DepositBelowMinimumError(2n, 1n), { code: 'deposit_below_minimum', status: 400, minimum: 2n }],
    ] as const) {
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject(fields);
    }
  });
});

describe('creating a pool', () => {
  it('makes one, though its answers are lost', async () => {
    let lost = 0;
    const keys = new Set<string | null>();
    const losing: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if ((input as Request).method !== 'POST' || !(input as Request).url.endsWith('/pools')) return answer;
      keys.add((input as Request).headers.get('idempotency-key'));
      if (lost++ < 2) throw new TypeError('the cable was cut');
      return answer;
    };
    const { client } = await signedIn({ fetch: losing });
    const { id, depositId } = await client.pools.create(DEPOSIT);
    expect(keys.size).toBe(1);
    expect((await client.pools.list()).data.map((pool) => pool.id)).toEqual([id]);
    expect((await client.transactions.list()).data.map((each) => each.id)).toEqual([depositId]);
    expect(await client.transactions.byId(depositId)).toMatchObject({ poolId: id, status: 'PENDING' });
    await client.pools.create(DEPOSIT);
    expect(keys.size).toBe(2);
  });

  it('tells by which key to go on, when it gives up', async () => {
    const broken: typeof fetch = (input, init) =>
      (input as Request).url.endsWith('/pools') && (input as Request).method === 'POST'
        ? fetch(input, init).then(() => Promise.reject(new TypeError('cut')))
        : fetch(input, init);
    const { client } = await signedIn({ fetch: broken, retry: { attempts: 2 } });
    const error = await errorOf(client.pools.create(DEPOSIT));
    expect(error).toMatchObject({
      code: 'no_answer',
      idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    const whole = new SavingsClient({ baseUrl, tokens: client.tokens });
    const { id } = await whole.pools.create(DEPOSIT, { idempotencyKey: error.idempotencyKey });
    expect((await whole.pools.list()).data.map((pool) => pool.id)).toEqual([id]);
  });
});

type Methods<T> = {
  [Name in keyof T]: T[Name] extends (...given: never[]) => unknown ? Name : never;
}[keyof T];
/** What each method gave: one that is added to the client does not compile until it is called here. */
type Given<Name extends 'pools' | 'transactions' | 'lottery' | 'account' | 'webhooks'> = Record<
  Methods<SavingsClient[Name]>,
  unknown
>;

async function listOf<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const each of all) list.push(each);
  return list;
}

describe('each method', () => {
  it('of pools', async () => {
    const { client, user } = await signedIn();
    const { pools } = client;
    const created = await pools.create({ ...DEPOSIT, type: 'rotating' });
    const { id } = created;
    await addPosition(app, id, user.address, { balance: 7, deposited: 7 });
    const given: Given<'pools'> = {
      create: created,
      update: await pools.update(id, { autoCompound: false }),
      list: (await pools.list()).data,
      all: await listOf(pools.all()),
      get: await pools.get(id),
      yieldReport: await pools.yieldReport(id),
      rounds: await pools.rounds(id),
      position: await pools.position(id),
      leave: (await errorOf(pools.leave(id))).code,
    };
    expect(given).toMatchObject({
      update: { autoCompound: false },
      list: [{ id }],
      all: [{ id }],
      get: { id, owner: { address: user.address } },
      yieldReport: { totalYield: '0' },
      rounds: { poolId: id, circle: null },
      position: { poolId: id, deposited: '7' },
      leave: 'owner_cannot_leave',
    });
  });

  it('of transactions', async () => {
    const { client, user } = await signedIn();
    const { transactions } = client;
    const pool = await client.pools.create(DEPOSIT);
    const { id, txHash } = await addTransaction(app, { poolId: pool.id, account: user.address });
    const given: Given<'transactions'> = {
      list: (await transactions.list({ status: 'CONFIRMED' })).data,
      all: await listOf(transactions.all({ type: 'DEPOSIT' })),
      byId: await transactions.byId(id),
      byHash: await transactions.byHash(txHash!),
      confirmed: await transactions.confirmed(id),
    };
    const own = { id, txHash, poolId: pool.id, amount: '1000' };
    expect(given).toMatchObject({ list: [own], byId: own, byHash: own, confirmed: own });
    expect(given.all).toHaveLength(2);
  });

  it('of the lottery', async () => {
    const { client, user } = await signedIn();
    const { lottery } = client;
    const drawTime = new Date(Date.now() + 60_000).toISOString();
    await knowLottery(app);
    await addDraw(app, 1, { status: 'COMPLETED', winner: user.address });
    await addDraw(app, 2, { status: 'ACTIVE', drawTime });
    await addEntry(app, 2, user.address, [3, 15, 0]);
    try {
      const given: Given<'lottery'> = {
        current: await lottery.current(),
        winners: (await lottery.winners()).data,
        allWinners: await listOf(lottery.allWinners()),
        mine: (await lottery.mine()).data,
        allMine: await listOf(lottery.allMine()),
      };
      const [won, entry] = [
        { drawId: 1, winner: user.address },
        { drawId: 2, tickets: 3 },
      ];
      const open = { drawId: 2, contract: LOTTERY, drawTime };
      expect(given).toMatchObject({ current: open, winners: [won], allWinners: [won] });
      expect(given).toMatchObject({ mine: [entry], allMine: [entry] });
    } finally {
      const tables = ['lottery_tickets', 'lottery_draws', 'chain_cursor', 'chain_facts', 'chain_contracts'];
      await app.sql(tables.map((table) => `DELETE FROM ${table}`).join('; '));
    }
  });

  it('of the account', async () => {
    const { client, user } = await signedIn();
    const { account } = client;
    const { id } = await client.pools.create(DEPOSIT);
    await addPosition(app, id, user.address, { balance: 7, deposited: 7 });
    const given: Given<'account'> = {
      start: await account.start(),
      me: await account.me(),
      positions: (await account.positions()).data,
      allPositions: await listOf(account.allPositions()),
      analytics: await account.analytics(),
    };
    const position = { poolId: id, deposited: '7' };
    expect(given).toMatchObject({
      start: { pools: { data: [{ id }] } },
      me: { address: user.address },
      positions: [position],
      allPositions: [position],
      analytics: expect.objectContaining({ totalYield: '0' }),
    });
  });

  it('of webhooks', async () => {
    const receiver = await new Receiver().start();
    const { answerChallenge } = receiver;
    receiver.answer = receiver.answerChallenge = (response) => response.writeHead(500).end();
    try {
      const { webhooks } = (await signedIn()).client;
      const { url } = receiver;
      const created = await webhooks.create({ url });
      const { id } = created;
      await until(async () => (await webhooks.get(id)).lastError !== null);
      receiver.answerChallenge = answerChallenge;
      await goForward(app, id, '1 minute');
      const challenged = await webhooks.challenge(id);
      await until(async () => (await webhooks.get(id)).status === 'ACTIVE');
      const tested = await webhooks.test(id);
      await until(async () => (await webhooks.deliveries(id)).data[0].status === 'FAILED');
      const given: Given<'webhooks'> = {
        create: created,
        test: tested,
        list: (await webhooks.list()).data,
        get: await webhooks.get(id),
        update: await webhooks.update(id, { topics: ['draw.opened'] }),
        rotate: await webhooks.rotate(id),
        challenge: challenged,
        deliveries: (await webhooks.deliveries(id)).data,
        allDeliveries: await listOf(webhooks.allDeliveries(id)),
        retry: await webhooks.retry(id, tested.id),
        delete: await webhooks.delete(id),
      };
      const delivery = { id: tested.id, topic: 'test' };
      const secret = expect.stringMatching(/^whsec_/);
      expect(given).toMatchObject({
        create: { url, secret },
        test: delivery,
        list: [{ id, status: 'ACTIVE' }],
        get: { id, url },
        update: { topics: ['draw.opened'] },
        rotate: { secret },
        challenge: { id },
        deliveries: [{ ...delivery, status: 'FAILED', lastStatus: 500 }],
        allDeliveries: [delivery],
        retry: delivery,
      });
      expect((await errorOf(webhooks.get(id))).code).toBe('not_found');
    } finally {
      await receiver.stop();
    }
  });
});

describe('pay', () => {
  const wallet = { request: (() => Promise.reject(new Error('the wallet is not asked'))) as never };
  const options = { wallet };
  const members = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}`);
  const [draw, depositId] = [{ drawId: 3, contract: LOTTERY }, '0198c1d2-0000-7000-8000-000000000000'];
  type Fields<Kind extends PaymentKind> = Omit<Extract<PaymentRequest, { kind: Kind }>, 'kind'>;
  /** By kind, what it is given beside the pool, what is asked of the service, and the name that it had before. */
  const kinds: {
    [Kind in PaymentKind]: [
      Omit<Fields<Kind>, 'pool'>,
      string,
      ((of: SavingsClient, pool: string) => Promise<unknown>)?,
    ];
  } = {
    deposit: [
      { depositId, amount: 5n },
      `POOL/deposit?transaction=${depositId}&amount=5`,
      (of, pool) => of.pay(pool, { transaction: depositId, amount: 5n, wallet }),
    ],
    withdraw: [
      { amount: 5n },
      'POOL/withdraw?amount=5',
      (of, pool) => of.withdraw(pool, { amount: '5', wallet }),
    ],
    claimYield: [{}, 'POOL/claim', (of, pool) => of.claim(pool, options)],
    startCompounding: [
      {},
      'POOL/compounding?enabled=true',
      (of, pool) => of.setCompounding(pool, { enabled: true, wallet }),
    ],
    stopCompounding: [
      {},
      'POOL/compounding?enabled=false',
      (of, pool) => of.setCompounding(pool, { enabled: false, wallet }),
    ],
    openCircle: [
      { contribution: 5n, period: 3600, joinBy: '2030-01-01T00:00:00.000Z', members },
      `POOL/open?contribution=5&members=${members.join('%2C')}&period=3600&joinBy=2030-01-01T00%3A00%3A00.000Z`,
    ],
    join: [{ depositId }, `POOL/join?transaction=${depositId}`],
    contribute: [{ depositId }, `POOL/contribute?transaction=${depositId}`],
    claimPayout: [{}, 'POOL/payout'],
    claimRefund: [{}, 'POOL/refund'],
    endRound: [{}, 'POOL/endRound'],
    cancelCircle: [{}, 'POOL/cancel'],
    buyTickets: [{ count: 2n }, '/lottery/calls/tickets?count=2', (of) => of.buyTickets(2, options)],
    claimPrize: [
      draw,
      `/lottery/calls/claim?drawId=3&contract=${LOTTERY}`,
      (of) => of.claimPrize(draw, options),
    ],
    refund: [draw, `/lottery/calls/refund?drawId=3&contract=${LOTTERY}`, (of) => of.refund(draw, options)],
    completeDraw: [
      draw,
      `/lottery/calls/complete?drawId=3&contract=${LOTTERY}`,
      (of) => of.completeDraw(draw, options),
    ],
    cancelDraw: [
      draw,
      `/lottery/calls/cancel?drawId=3&contract=${LOTTERY}`,
      (of) => of.cancelDraw(draw, options),
    ],
  };

  it.each(Object.entries(kinds))('asks the service for the call of %s', async (kind, given) => {
    const [fields, path, before] = given;
    const asked: string[] = [];
    const codes: unknown[] = [];
    const noting: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      const { pathname, search } = new URL((input as Request).url);
      if (!pathname.includes('/calls/')) return answer;
      asked.push(pathname + search);
      codes.push(((await answer.clone().json()) as { code?: string }).code);
      return answer;
    };
    const { client } = await signedIn({ fetch: noting, retry: { attempts: 1 } });
    const { id: pool } = await client.pools.create(DEPOSIT);
    const request = { kind, ...(path.startsWith('POOL') && { pool }), ...fields } as PaymentRequest;
    await expect(client.pay(request, options)).rejects.toThrow();
    if (before) await expect(before(client, pool)).rejects.toThrow();
    const expected = path.replace('POOL', `/pools/${pool}/calls`);
    expect(asked).toEqual(before ? [expected, expected] : [expected]);
    // The service knows the parameters, even where it has nothing to send.
    expect(codes).not.toContain('validation_failed');
  });
});
