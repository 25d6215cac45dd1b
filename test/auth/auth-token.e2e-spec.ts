import { createSign, generateKeyPairSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { JWT_SECRET, type SignedIn, type TestApp, jwt, useApp } from '../support/app';
import { PROTECTED } from '../support/endpoints';

const OTHER_SECRET = 'another secret that is long enough too';
const INVALID = [401, { success: false, error: 'Invalid token', code: 'invalid_token' }];
const because = (code: string): unknown => [401, { success: false, error: 'Invalid token', code }];
const now = (): number => Math.floor(Date.now() / 1000);

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()) as Record<string, unknown>;

describe('token', () => {
  const app = useApp();
  let user: SignedIn;
  let claims: Record<string, unknown>;

  beforeAll(async () => {
    user = await app.signIn();
    claims = { userId: user.user.id, address: user.address, iat: now(), exp: now() + 3600 };
  });

  const me = async (authorization?: string): Promise<[number, unknown]> => {
    const { status, body } = await app.get('/auth/me', undefined, authorization ? { authorization } : {});
    return [status, body];
  };
  const bearer = (token: string): Promise<[number, unknown]> => me(`Bearer ${token}`);

  it('is an HS256 JWT of 7 days with userId, address and jti', () => {
    const { iat, jti, ...rest } = claimsOf(user.token);
    expect(JSON.parse(Buffer.from(user.token.split('.')[0], 'base64url').toString())).toEqual({
      alg: 'HS256',
      typ: 'JWT',
    });
    expect(rest).toEqual({
      userId: user.user.id,
      address: user.address,
      chainId: 1,
      generation: 0,
      exp: (iat as number) + 7 * 86_400,
    });
    expect(jti).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('is told by /users/me when it ends, beside what /auth/me tells', async () => {
    const me = (await app.get('/auth/me', user)).body.data;
    const { status, body } = await app.get('/users/me', user);
    const tokenExpiresAt = new Date((claimsOf(user.token).exp as number) * 1000).toISOString();
    expect([status, body]).toEqual([200, { success: true, data: { ...me, tokenExpiresAt, chainId: 1 } }]);
  });

  it('is accepted with any case of the scheme, more than once', async () => {
    expect((await bearer(user.token))[0]).toBe(200);
    expect((await bearer(user.token))[0]).toBe(200);
    expect((await me(`bearer ${user.token}`))[0]).toBe(200);
    expect((await bearer(jwt(claims)))[0]).toBe(200);
  });

  it('is needed for everything that belongs to a user', () =>
    expect(PROTECTED.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining([
        'GET /auth/me',
        'GET /pools',
        'POST /pools',
        'GET /pools/x',
        'GET /pools/x/yield',
        'DELETE /pools/x/membership',
        'GET /transactions',
        'GET /transactions/x',
        'GET /analytics/pools',
        'GET /analytics/user',
        'GET /lottery/current',
        'GET /lottery/winners',
      ]),
    ));

  it('is not needed for sign-in, health and metrics', async () => {
    for (const path of '/auth/nonce /health /health/live /health/ready /metrics /docs/openapi.json'.split(
      ' ',
    ))
      expect((await app.get(path)).status).toBe(200);
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Bearer x',
    'Bearer ..',
    'Basic eDp5',
    'Bearer null',
    'Bearer a.b.c',
    'x',
  ])('is not %j', async (header) => expect(await me(header)).toEqual(INVALID));

  it('is ignored in any other place', async () => {
    const { token } = user;
    expect(await me(token)).toEqual(INVALID);
    expect(await me(`Token ${token}`)).toEqual(INVALID);
    for (const url of [
      `/auth/me?token=${token}`,
      `/auth/me?access_token=${token}`,
      `/auth/me?auth_token=${token}`,
    ])
      expect((await app.get(url)).status).toBe(401);
    expect(
      (await app.get('/auth/me', undefined, { cookie: `token=${token}`, 'x-access-token': token })).status,
    ).toBe(401);
  });

  it('with algorithm none is refused', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      const unsigned = `${encode({ alg, typ: 'JWT' })}.${encode(claims)}`;
      expect(await bearer(`${unsigned}.`)).toEqual(INVALID);
      expect(await bearer(unsigned)).toEqual(INVALID);
      expect(await bearer(jwt(claims, { header: { alg } }))).toEqual(INVALID);
    }
  });

  it('with another algorithm is refused, even with the right secret', async () => {
    expect(await bearer(jwt(claims, { header: { alg: 'HS512' }, digest: 'sha512' }))).toEqual(INVALID);
    expect(await bearer(jwt(claims, { header: { alg: 'HS384' }, digest: 'sha384' }))).toEqual(INVALID);
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
    const signature = createSign('sha256').update(signed).sign(privateKey, 'base64url');
    expect(await bearer(`${signed}.${signature}`)).toEqual(INVALID);
  });

  it.each([
    { kid: '../../../../dev/null' },
    { kid: `x' UNION SELECT 'key` },
    { jwk: { kty: 'oct', k: encode('key') } },
    { jku: 'http://127.0.0.1:1/keys', x5u: 'http://127.0.0.1:1/' },
    { crit: ['b64'], b64: false },
    { alg: ['HS256', 'none'] },
  ])('with a key of its own is refused, whatever its header says: %j', async (header) => {
    for (const secret of ['key', '']) expect(await bearer(jwt(claims, { header, secret }))).toEqual(INVALID);
  });

  it('with another secret, or altered, is refused', async () => {
    for (const other of [claims, { ...claims, exp: now() - 1 }])
      expect(await bearer(jwt(other, { secret: OTHER_SECRET }))).toEqual(INVALID);
    const [header, , signature] = user.token.split('.');
    const altered = encode({ ...claimsOf(user.token), userId: uuidv7() });
    expect(await bearer(`${header}.${altered}.${signature}`)).toEqual(INVALID);
    expect(await bearer(user.token.slice(0, -4))).toEqual(INVALID);
  });

  it('that has expired, or is not valid yet, is refused', async () => {
    expect(await bearer(jwt({ ...claims, exp: now() - 1 }))).toEqual(because('token_expired'));
    expect(await bearer(jwt({ ...claims, nbf: now() + 60 }))).toEqual(INVALID);
    expect((await bearer(jwt({ ...claims, nbf: now() - 60 })))[0]).toBe(200);
  });

  it('that was accepted before is refused once it has expired', async () => {
    const token = jwt({ ...claims, exp: now() + 60 });
    expect((await bearer(token))[0]).toBe(200);
    const end = (claimsOf(token).exp as number) * 1000;
    const later = jest.spyOn(Date, 'now').mockReturnValue(end - 1);
    try {
      expect((await bearer(token))[0]).toBe(200);
      later.mockReturnValue(end);
      for (const each of [token, jwt({ ...claims, exp: end / 1000 })])
        expect(await bearer(each)).toEqual(because('token_expired'));
      expect((await bearer(jwt({ ...claims, nbf: end / 1000, exp: end / 1000 + 1 })))[0]).toBe(200);
    } finally {
      later.mockRestore();
    }
  });

  it.each<[string, Record<string, unknown>]>([
    ['no userId', { userId: undefined }],
    ['userId not an id', { userId: "' OR 1=1" }],
    ['userId with NUL', { userId: '\0' }],
    ['userId a number', { userId: 1 }],
    ['userId an object', { userId: { a: 1 } }],
    ['no address', { address: undefined }],
    ['address not an address', { address: '0x12' }],
    ['address a list', { address: [`0x${'1'.repeat(40)}`] }],
    ['no expiry', { exp: undefined }],
    ['expiry as text', { exp: '9999999999' }],
    ['jti not an id', { jti: 'x' }],
    ['jti a number', { jti: 7 }],
    ['generation as text', { generation: '0' }],
    ['generation null', { generation: null }],
    ['generation below zero', { generation: -1 }],
    ['generation not an integer', { generation: 0.5 }],
    ['generation no integer of the database', { generation: 2 ** 31 }],
  ])('with wrong claims is refused: %s', async (_, change) =>
    expect(await bearer(jwt({ ...claims, ...change }))).toEqual(INVALID),
  );

  it.each<[string, Record<string, unknown>]>([
    ['generation of the future', { generation: 1 }],
    ['a user who never was', { userId: uuidv7() }],
  ])('of a session that does not live is refused: %s', async (_, change) =>
    expect(await bearer(jwt({ ...claims, ...change }))).toEqual(because('token_revoked')),
  );
});

describe('after changing the secret', () => {
  const app: TestApp = useApp({ JWT_SECRET: OTHER_SECRET, JWT_PREVIOUS_SECRET: JWT_SECRET });
  const status = async (token: string): Promise<number> => (await app.get('/auth/me', { token })).status;

  it('tokens of both secrets are valid, and new tokens use the new one', async () => {
    const user = await app.signIn();
    const claims = { userId: user.user.id, address: user.address, exp: now() + 60 };
    expect(await status(user.token)).toBe(200);
    expect(jwt(claimsOf(user.token), { secret: OTHER_SECRET })).toBe(user.token);
    expect(await status(jwt(claims, { secret: JWT_SECRET }))).toBe(200);
    expect(await status(jwt(claims, { secret: OTHER_SECRET }))).toBe(200);
    expect(await status(jwt(claims, { secret: 'a third secret, nowhere configured' }))).toBe(401);
    expect(await status(jwt({ ...claims, exp: now() - 1 }, { secret: JWT_SECRET }))).toBe(401);
    const wrong = { secret: JWT_SECRET, header: { alg: 'HS512' }, digest: 'sha512' };
    expect(await status(jwt(claims, wrong))).toBe(401);
  });
});
