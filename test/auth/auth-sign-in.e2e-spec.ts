import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { valuesOf } from '#platform/postgres/statement';
import { SIGN_IN } from '#features/access/sign-in.sql';
import { METRICS_TOKEN, type TestApp, until, useApp } from '../support/app';
import { type MessageFields, type Wallet, newWallet, siweMessage } from '../support/wallet';

const FAILED = [401, { success: false, error: 'Authentication failed', code: 'authentication_failed' }];
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Signs in with a message of these fields, with a fresh nonce unless one is given. */
async function attempt(app: TestApp, fields: Partial<MessageFields> = {}, wallet: Wallet = newWallet()) {
  const message = siweMessage({
    address: wallet.address,
    nonce: fields.nonce ?? (await app.nonce()),
    ...fields,
  });
  return app.post('/auth/verify', { message, signature: await wallet.signMessage({ message }) });
}

async function isAnswered(app: TestApp, fields: Partial<MessageFields>, status: number): Promise<void> {
  const answer = await attempt(app, fields);
  expect(answer.status).toBe(status);
  if (status === 401) expect([answer.status, answer.body]).toEqual(FAILED);
}

describe('nonce', () => {
  const app = useApp();

  it.each(['/auth/nonce', '/api/auth/nonce'])(
    'comes by GET and by POST, enveloped and bare: %s',
    async (path) => {
      for (const answer of [await app.get(path), await app.post(path, { address: newWallet().address })]) {
        expect(answer.status).toBe(200);
        const { nonce } = answer.body;
        expect(nonce).toMatch(/^[a-zA-Z0-9]{8,}$/);
        expect(answer.body).toEqual({ success: true, data: { nonce }, nonce });
      }
    },
  );

  it('is different each time', async () => {
    const nonces = await Promise.all(Array.from({ length: 50 }, () => app.nonce()));
    expect(new Set(nonces).size).toBe(50);
  });

  it('lives for 600 seconds', async () => {
    const [{ begun }] = await app.sql('SELECT now() AS begun');
    const nonce = await app.nonce();
    const rows = await app.sql(
      `SELECT expires_at - interval '600 seconds' BETWEEN $2 AND now() AS exact FROM nonces WHERE nonce = $1`,
      [nonce, begun],
    );
    expect(rows).toEqual([{ exact: true }]);
  });

  it.each([
    {},
    { address: null },
    { address: '0x12' },
    { address: 7 },
    { address: ['0x'] },
    { address: '' },
    { address: '11'.repeat(20) },
    { address: `0x${'g'.repeat(40)}` },
    { address: `0x${'1'.repeat(41)}` },
    { address: `0x${'1'.repeat(40)}\n` },
  ])('by POST needs an address: %j', async (body) => {
    const answer = await app.post('/auth/nonce', body);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      success: false,
      error: 'Validation failed',
      code: 'validation_failed',
      details: [{ field: 'address', message: 'must be a wallet address' }],
    });
  });

  it('by POST without a body is refused too', async () => {
    const answer = await app.send({ method: 'POST', url: '/auth/nonce' });
    expect([answer.status, answer.body.error]).toEqual([400, 'Validation failed']);
  });
});

describe('sign-in', () => {
  const app = useApp();

  it.each(['', '/api'])(
    'gives token and user, enveloped and bare, both ways to a nonce: %s',
    async (prefix) => {
      const wallet = newWallet();
      const nonces = [
        (await app.get(`${prefix}/auth/nonce`)).body.nonce as string,
        (await app.post(`${prefix}/auth/nonce`, { address: wallet.address })).body.data.nonce as string,
      ];
      const users = [];
      for (const nonce of nonces) {
        const message = siweMessage({ address: wallet.address, nonce, statement: 'Sign in to save.' });
        const signature = await wallet.signMessage({ message });
        const { status, body } = await app.post(`${prefix}/auth/verify`, { message, signature });
        expect(status).toBe(200);
        expect(body.data.user).toEqual({
          id: expect.any(String),
          address: wallet.address.toLowerCase(),
          createdAt: expect.stringMatching(ISO),
        });
        expect(body).toEqual({ success: true, data: { token: body.token, user: body.user }, ...body.data });
        const me = await app.get(`${prefix}/auth/me`, { token: body.token as string });
        expect(me.body).toEqual({ success: true, data: { ...body.user, poolCount: 0, totalDeposits: '0' } });
        users.push(body.user);
      }
      expect(users[1]).toEqual(users[0]);
    },
  );

  it('accepts a nonce only once', async () => {
    const wallet = newWallet();
    const nonce = await app.nonce();
    expect((await attempt(app, { nonce }, wallet)).status).toBe(200);
    const again = await attempt(app, { nonce }, wallet);
    expect([again.status, again.body]).toEqual(FAILED);
    expect(await app.sql('SELECT FROM nonces WHERE nonce = $1', [nonce])).toEqual([]);
  });

  it('accepts a nonce only once, even if a second process finds it before the first has used it', async () => {
    const nonce = await app.nonce();
    const addresses = [newWallet().address.toLowerCase()];
    const signIn = async (client: Client): Promise<number | null> => {
      const values = valuesOf(SIGN_IN, { nonces: [nonce], addresses, newIds: [randomUUID()] });
      return (await client.query(SIGN_IN.text, values)).rowCount;
    };
    const [first, second] = [await app.connect(), await app.connect()];
    const { rows } = await second.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await first.query('BEGIN');
    expect(await signIn(first)).toBe(1);
    const late = signIn(second);
    const waits = 'SELECT WHERE cardinality(pg_blocking_pids($1)) > 0';
    await until(async () => (await app.sql(waits, [rows[0].pid])).length > 0);
    await first.query('COMMIT');
    expect(await late).toBe(0);
  });

  it('that fails leaves the nonce usable', async () => {
    const wallet = newWallet();
    const nonce = await app.nonce(wallet.address);
    const message = siweMessage({ address: wallet.address, nonce });
    const signature = await newWallet().signMessage({ message });
    expect((await app.post('/auth/verify', { message, signature })).status).toBe(401);
    expect((await attempt(app, { nonce, expirationTime: '2020-01-01T00:00:00Z' }, wallet)).status).toBe(401);
    expect((await attempt(app, { nonce }, newWallet())).status).toBe(401);
    expect((await attempt(app, { nonce }, wallet)).status).toBe(200);
  });

  it('accepts a nonce got by POST only for its own address, in any case', async () => {
    const [wallet, other] = [newWallet(), newWallet()];
    const { nonce } = (
      await app.post('/auth/nonce', { address: wallet.address.toUpperCase().replace('X', 'x') })
    ).body;
    expect((await attempt(app, { nonce }, other)).status).toBe(401);
    expect((await attempt(app, { nonce }, wallet)).status).toBe(200);
  });

  it('accepts a nonce until it expires', async () => {
    const wallet = newWallet();
    const expire = (nonce: string, seconds: number) =>
      app.sql(`UPDATE nonces SET expires_at = now() + make_interval(secs => $2) WHERE nonce = $1`, [
        nonce,
        seconds,
      ]);
    const [alive, dead] = [await app.nonce(), await app.nonce()];
    await expire(alive, 300);
    await expire(dead, -0.001);
    expect((await attempt(app, { nonce: alive }, wallet)).status).toBe(200);
    expect((await attempt(app, { nonce: dead }, wallet)).status).toBe(401);
  });

  it('accepts any chain and site without CHAIN_ID and SIWE_DOMAINS', async () => {
    const answer = await attempt(app, {
      chainId: 424242,
      domain: 'elsewhere.example',
      uri: 'https://else.example',
    });
    expect(answer.status).toBe(200);
  });

  it.each([
    undefined,
    {},
    { message: 'x' },
    { signature: '0x' },
    { message: 7, signature: [] },
    { message: null, signature: null },
    { message: {}, signature: {} },
    [],
    'text',
    7,
    null,
  ])('answers 401 to a body that is no sign-in: %j', async (body) => {
    const answer = await app.send({
      method: 'POST',
      url: '/auth/verify',
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    expect([answer.status, answer.body]).toEqual(FAILED);
  });

  it('is one statement: if the user cannot be written, the nonce stays', async () => {
    const wallet = newWallet();
    const nonce = await app.nonce();
    await app.sql(
      `ALTER TABLE users ADD CONSTRAINT broken CHECK (address <> '${wallet.address.toLowerCase()}')`,
    );
    expect((await attempt(app, { nonce }, wallet)).status).toBe(500);
    await app.sql('ALTER TABLE users DROP CONSTRAINT broken');
    expect((await attempt(app, { nonce }, wallet)).status).toBe(200);
  });

  it('is counted by result', async () => {
    const count = (result: string): Promise<number> => app.metric(`sign_ins_total{result="${result}"}`);
    const [succeeded, nonceless] = [await count('success'), await count('nonce')];
    await attempt(app);
    await attempt(app, { nonce: 'neverIssued12345' });
    await until(async () => (await count('success')) === succeeded + 1);
    expect(await count('nonce')).toBe(nonceless + 1);
  });
});

describe('sign-in with SIWE_DOMAINS and CHAIN_ID', () => {
  const app = useApp({ SIWE_DOMAINS: 'app.example.org, localhost:3000', CHAIN_ID: '8453' });

  it.each<[Partial<MessageFields>, number]>([
    [{}, 200],
    [{ domain: 'localhost:3000', uri: 'http://localhost:3000/login?x=1' }, 200],
    [{ domain: 'app.example.org', uri: 'http://localhost:3000' }, 200],
    [{ domain: 'evil.example' }, 401],
    [{ uri: 'https://evil.example/login' }, 401],
    [{ uri: 'https://app.example.org.evil.example' }, 401],
    [{ uri: 'https://app.example.org@evil.example' }, 401],
    [{ uri: 'urn:app.example.org' }, 401],
    [{ domain: 'localhost', uri: 'http://localhost' }, 401],
    [{ domain: 'app.example.org:8443' }, 401],
    [{ domain: 'sub.app.example.org' }, 401],
    [{ domain: 'user@app.example.org' }, 401],
    ...['\u0430pp.example.org', '\uff41pp.example.org', 'app\u3002example.org', 'app\u200d.example.org'].map(
      (domain): [Partial<MessageFields>, number] => [{ domain }, 401],
    ),
    [{ domain: 'app.example.org.' }, 401],
    [{ domain: 'APP.EXAMPLE.ORG' }, 401],
    [{ domain: 'evil.example\napp.example.org' }, 401],
    [{ uri: 'https://evil.example\\@app.example.org/' }, 401],
    [{ statement: 'x\n\nURI: https://app.example.org\nVersion: 1' }, 401],
    [{ statement: 'x\rapp.example.org' }, 401],
    [{ requestId: 'x\nURI: https://evil.example' }, 401],
    [{ chainId: 1 }, 401],
    [{ chainId: 0 }, 401],
  ])('answers %j with %i', (fields, status) => isAnswered(app, { chainId: 8453, ...fields }, status));
});

describe('sign-in in production', () => {
  const app = useApp({
    NODE_ENV: 'production',
    CHAIN_ID: '1',
    METRICS_TOKEN,
    SIWE_DOMAINS: 'app.example.org, localhost:3000, 127.0.0.1:3000, [::1]:3000, plain.example',
  });

  it.each<[Partial<MessageFields>, number]>([
    [{}, 200],
    [{ uri: 'HTTPS://app.example.org/a?b=c#d' }, 200],
    [{ domain: 'https://app.example.org' }, 200],
    [{ domain: 'localhost:3000', uri: 'http://localhost:3000/login' }, 200],
    [{ domain: 'http://localhost:3000', uri: 'http://localhost:3000/login' }, 200],
    [{ uri: 'http://127.0.0.1:3000' }, 200],
    [{ uri: 'http://[::1]:3000/' }, 200],
    [{ uri: 'https://localhost:3000' }, 200],
    [{ uri: 'http://app.example.org/login' }, 401],
    [{ domain: 'http://app.example.org' }, 401],
    [{ domain: 'ftp://app.example.org' }, 401],
    [{ domain: 'javascript://app.example.org' }, 401],
    [{ uri: 'http://plain.example' }, 401],
    [{ uri: 'ftp://app.example.org/' }, 401],
    [{ uri: 'wss://app.example.org/' }, 401],
    [{ uri: 'ws://localhost:3000/' }, 401],
    [{ uri: 'javascript://app.example.org/%0aalert(1)' }, 401],
    [{ uri: 'https:app.example.org' }, 401],
    [{ uri: 'https://user@app.example.org/' }, 401],
    [{ uri: 'https://user:word@app.example.org/' }, 401],
    [{ uri: 'https://@app.example.org/' }, 401],
    [{ uri: 'http://user@localhost:3000/' }, 401],
    [{ domain: 'user@app.example.org' }, 401],
    [{ domain: 'https://user@app.example.org' }, 401],
    [{ chainId: 5 }, 401],
    [{ issuedAt: '2999-01-01T00:00:00Z' }, 401],
    [{ issuedAt: '2020-01-01T00:00:00Z' }, 200],
    [{ notBefore: '2999-01-01T00:00:00Z' }, 401],
    [{ notBefore: '2020-01-01T00:00:00Z', expirationTime: '2999-01-01T00:00:00Z' }, 200],
  ])('answers %j with %i', (fields, status) => isAnswered(app, fields, status));
});

describe('looking up the nonce', () => {
  const app = useApp();

  it.each<[string, Partial<MessageFields>]>([
    ['a statement like its line', { statement: 'Nonce: abcdefgh12345678' }],
    ['a statement like the line before', { statement: 'Chain ID: 1' }],
    [
      'a request id and resources like it',
      { requestId: 'Nonce:%20abcdefgh', resources: ['nonce:abcdefgh12345678'] },
    ],
  ])('is the one that is signed: with %s', async (_, fields) => {
    const nonce = await app.nonce();
    expect((await attempt(app, { ...fields, nonce })).status).toBe(200);
    expect(await app.sql('SELECT FROM nonces WHERE nonce = $1', [nonce])).toEqual([]);
  });

  it.each<[string, (good: string, used: string) => string]>([
    ['in a statement', (good) => `x\nChain ID: 1\nNonce: ${good}\nIssued At: 2026-01-01T00:00:00Z`],
    [
      'twice',
      (good) =>
        `x\n\nURI: https://a.example\nVersion: 1\nChain ID: 1\nNonce: ${good}\nIssued At: 2026-01-01T00:00:00Z`,
    ],
  ])('is no other that is good: %s', async (_, statement) => {
    const wallet = newWallet();
    const [good, used] = [await app.nonce(), await app.nonce()];
    expect((await attempt(app, { nonce: used }, wallet)).status).toBe(200);
    const answer = await attempt(app, { nonce: used, statement: statement(good, used) }, wallet);
    expect([answer.status, answer.body]).toEqual(FAILED);
    expect(await app.sql('SELECT FROM nonces WHERE nonce = $1', [good])).toHaveLength(1);
  });
});
