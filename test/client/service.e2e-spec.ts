import {
  ApiError,
  DepositBelowMinimumError,
  DepositSubmittedError,
  type ErrorCode,
  SavingsClient,
  type SavingsError,
  isSavingsError,
  memoryTokens,
  webTokens,
} from '@pooled-savings/client';
import { createHmac } from 'node:crypto';
import { type Hex, createWalletClient, custom, hexToString } from 'viem';
import { JWT_SECRET, TEN, useApp } from '../support/app';
import { type Wallet, newWallet } from '../support/wallet';

const app = useApp();
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
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const expired = (userId: string, address: string): string => {
      const at = Math.floor(Date.now() / 1000) - 1000;
      const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ userId, address, iat: at, exp: at + 1 })}`;
      return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`;
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
