import fc from 'fast-check';
import { createHmac } from 'node:crypto';
import { JWT_SECRET, TEN, type Request, type SignedIn, useApp } from '../support/app';
import { ENDPOINTS, isStream } from '../support/endpoints';
import { addTransaction } from '../support/ledger';
import { body, encode, headerText, json, query, text } from '../support/hostile';
import { type MessageFields, newWallet, siweMessage } from '../support/wallet';

const app = useApp({ TRUST_PROXY: '127.0.0.1', CORS_ORIGINS: 'https://app.example.org', CHAIN_ID: '1' });
const wallet = newWallet();
let user: SignedIn;
let poolId: string;
let txHash: string;

beforeAll(async () => {
  await app.listen();
  user = await app.signIn(wallet);
  poolId = (await app.createPool(user)).id as string;
  txHash = (await addTransaction(app, { poolId, account: user.address })).txHash!;
});

/** Sends generated requests. `send` checks each answer against the document. */
const survives = (arbitrary: fc.Arbitrary<() => Request | Promise<Request>>, runs = 40): Promise<void> =>
  fc.assert(
    fc.asyncProperty(arbitrary, async (request) => {
      const sent = await request();
      const { status } = await app.send(sent);
      if (status >= 500) throw new Error(`${status} for ${JSON.stringify(sent)}`);
    }),
    { numRuns: runs },
  );

const get = (urls: fc.Arbitrary<string>): fc.Arbitrary<() => Request> =>
  urls.map((url) => () => ({ url, as: user }));
const path = (prefix: string, suffix = ''): fc.Arbitrary<string> =>
  fc
    .oneof(
      text.map(encode),
      text.map((raw) => raw.replace(/[^\x21-\x7e]/g, '')),
    )
    .map((id) => `${prefix}${id}${suffix}`);

describe('hostile input gives no 5xx, and answers as documented:', () => {
  it('GET /pools/:id', () => survives(get(path('/pools/'))));
  it('GET /transactions/:hash', () => survives(get(path('/api/transactions/'))));
  const documented = ENDPOINTS.filter(({ method, operation }) => method === 'GET' && !isStream(operation));
  it.each(documented)('GET $path', ({ path: url, operation }) => {
    const names = operation.parameters?.filter((parameter) => parameter.in === 'query') ?? [];
    return survives(get(query('x', ...names.map(({ name }) => name)).map((q) => `${url}?${q}`)), 15);
  });
  it('any path', () => survives(get(path('/', '')), 50));

  it('POST /pools, Idempotency-Key', () =>
    survives(
      fc.tuple(headerText, fc.constantFrom('lottery', 'rotating')).map(([key, type]) => () => ({
        method: 'POST',
        url: '/pools',
        body: { type, initialDeposit: TEN },
        headers: { 'idempotency-key': key },
        as: user,
      })),
    ));

  const writes = ENDPOINTS.filter(({ operation }) => operation.requestBody !== undefined);
  it.each(writes)('$method $path, whatever its body', ({ method, path: url, operation }) => {
    const { example, examples = {} } = operation.requestBody!.content['application/json'];
    const valid = () => (example ?? Object.values(examples)[0].value) as Record<string, unknown>;
    // Some end the session.
    const caller = () => (url.includes('/logout') ? app.signIn() : user);
    const target = url.startsWith('/pools/') ? url.replace('/x', `/${poolId}`) : url;
    return survives(
      body(valid).map((make) => async () => ({ method, url: target, body: make(), as: await caller() })),
      15,
    );
  });

  it('POST /auth/verify, in a signed message', () => {
    const names = [
      'domain',
      'address',
      'statement',
      'uri',
      'version',
      'chainId',
      'nonce',
      'issuedAt',
      'expirationTime',
      'notBefore',
      'requestId',
    ] as const;
    const change = fc.tuple(fc.constantFrom<keyof MessageFields>(...names), text);
    return survives(
      change.map(([name, value]) => async () => {
        const message = siweMessage({ address: wallet.address, nonce: await app.nonce(), [name]: value });
        return {
          method: 'POST',
          url: '/auth/verify',
          body: { message, signature: await wallet.signMessage({ message }) },
        };
      }),
    );
  });

  it('headers', () => {
    const names = `authorization content-type x-request-id x-forwarded-for x-forwarded-proto forwarded
      origin accept accept-encoding range if-none-match cookie access-control-request-method x-http-method-override
      expect-ct`.split(/\s+/);
    const target = fc.constantFrom(
      'GET /pools',
      'POST /pools',
      'POST /auth/verify',
      'GET /health',
      'OPTIONS /pools',
      'GET /metrics',
      'HEAD /auth/me',
    );
    return survives(
      fc
        .tuple(
          target,
          fc.array(fc.tuple(fc.constantFrom(...names), headerText), { minLength: 1, maxLength: 3 }),
        )
        .map(([target, headers]) => () => {
          const [method, url] = target.split(' ');
          return {
            method,
            url,
            body: method === 'POST' ? '{}' : undefined,
            as: user,
            headers: Object.fromEntries(headers),
          };
        }),
      75,
    );
  });

  it('headers beyond 16 KiB, at every operation', async () => {
    for (const { method, path } of ENDPOINTS) {
      const answer = await app.send({ method, url: path, headers: { cookie: 'x'.repeat(17_000) } });
      expect([path, answer.status]).toEqual([path, 431]);
    }
  });

  it('claims of a token with a valid signature', () => {
    const claims = fc.record(
      { userId: json, address: json, exp: json, iat: json, nbf: json },
      { requiredKeys: [] },
    );
    const urls = fc.constantFrom('/auth/me', '/pools', `/analytics/user`, '/transactions');
    const part = (value: string): string => Buffer.from(value).toString('base64url');
    return survives(
      fc.tuple(claims, urls).map(([given, url]) => () => {
        const exp = Math.floor(Date.now() / 1000) + 60;
        const all = { userId: `"${user.user.id}"`, address: `"${user.address}"`, exp: `${exp}`, ...given };
        const payload = `{${Object.entries(all)
          .map(([name, value]) => `"${name}":${value}`)
          .join(',')}}`;
        const signed = `${part('{"alg":"HS256","typ":"JWT"}')}.${part(payload)}`;
        const signature = createHmac('sha256', JWT_SECRET).update(signed).digest('base64url');
        return { url, as: { token: `${signed}.${signature}` } };
      }),
      75,
    );
  });
});

it('leaves the service unchanged', async () => {
  const detail = await app.get(`/pools/${poolId}`, user);
  expect(detail.body.data).toMatchObject({ id: poolId, owner: { address: user.address } });
  expect((await app.get(`/transactions/${txHash}`, user)).status).toBe(200);
  expect(({} as { a?: number }).a).toBeUndefined();
});
