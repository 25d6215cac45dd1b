import { Database } from '#platform/database/database';
import { JWT_SECRET, type Response, type SignedIn, jwt, useApp } from '../support/app';
import { newWallet, siweMessage } from '../support/wallet';

// As specified: 100 and 5 in 15 minutes.
const app = useApp({ RATE_LIMIT_GENERAL: '', RATE_LIMIT_AUTH: '' });

let lastIp = 0;
/** A client that no other test uses. */
const newIp = (): string => `203.0.113.${++lastIp}`;
const get = (url: string, ip: string, as?: { token: string }): Promise<Response> => app.send({ url, ip, as });
const post = (url: string, ip: string, as?: { token: string }): Promise<Response> =>
  app.send({ method: 'POST', url, ip, as });
/** The address has nothing left. */
async function exhaust(ip: string, requests: number, url = '/auth/nonce'): Promise<void> {
  for (let i = 0; i < requests; i++) await get(url, ip);
  expect((await get(url, ip)).status).toBe(429);
}
async function signIn(): Promise<SignedIn> {
  const wallet = newWallet();
  const ip = newIp();
  const { nonce } = (await get('/users/nonce', ip)).body;
  const message = siweMessage({ address: wallet.address, nonce });
  const body = { message, signature: await wallet.signMessage({ message }) };
  const answer = await app.send({ method: 'POST', url: '/auth/verify', ip, body });
  expect(answer.status).toBe(200);
  return { ...answer.body.data, wallet, address: wallet.address.toLowerCase() } as SignedIn;
}
const isDead = async (user: SignedIn): Promise<boolean> =>
  (await get('/users/me', newIp(), user)).body.code === 'token_revoked';
function forge(user: SignedIn, secret: string, exp = Date.now() / 1000 + 60): { token: string } {
  const [, claims] = user.token.split('.');
  const own = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object;
  return { token: jwt({ ...own, exp: Math.floor(exp) }, { secret }) };
}

const ROUTES = ['/auth/logout', '/auth/logout/all', '/users/me/logout', '/users/me/logout/all'];

describe('a valid token', () => {
  it.each(ROUTES)('logs out beyond the limits, and is dead then: %s', async (url) => {
    for (const [requests, limit] of [
      [5, '/auth/nonce'],
      [100, '/pools'],
    ] as const) {
      const [user, ip] = [await signIn(), newIp()];
      await exhaust(ip, requests, limit);
      const answer = await post(url, ip, user);
      expect([answer.status, answer.headers['retry-after']]).toEqual([200, undefined]);
      expect(await isDead(user)).toBe(true);
    }
  });

  it('does nothing else there', async () => {
    const [user, ip] = [await signIn(), newIp()];
    await exhaust(ip, 5);
    for (const url of ['/auth/me', '/auth/nonce', '/auth/logout', '/auth/nowhere'])
      expect((await get(url, ip, user)).status).toBe(429);
    expect((await post('/auth/verify', ip, user)).status).toBe(429);
    expect((await post('/auth/logout', ip, user)).status).toBe(200);
  });

  it('tries again when the service failed, but not without end', async () => {
    const [user, ip] = [await signIn(), newIp()];
    await exhaust(ip, 5);
    const write = jest.spyOn(app.nest.get(Database), 'write').mockRejectedValue(new Error('fault'));
    const statuses = [];
    try {
      for (let i = 0; i < 4; i++) statuses.push((await post('/auth/logout', ip, user)).status);
    } finally {
      write.mockRestore();
    }
    // The fifth ends the session.
    for (let i = 0; i < 3; i++) statuses.push((await post('/auth/logout', ip, user)).status);
    expect(statuses).toEqual([500, 500, 500, 500, 200, 429, 429]);
  });

  it('that was revoked is no way around a limit, nor to have the database asked', async () => {
    const [user, ip] = [await signIn(), newIp()];
    expect((await post('/users/me/logout', newIp(), user)).status).toBe(200);
    await exhaust(ip, 5);
    const asked = await app.readsDuring(async () => {
      for (let i = 0; i < 50; i++) {
        // The same token in a header that was not seen before.
        const headers = { authorization: `Bearer${' '.repeat(1 + i)}${user.token}` };
        const { status } = await app.send({ method: 'POST', url: '/auth/logout', ip, headers });
        expect(status).toBe(429);
      }
    });
    expect(asked.length).toBeLessThanOrEqual(5);
  });
});

describe('logging out', () => {
  it('without a valid token counts, is refused beyond the limit, and asks no database there', async () => {
    const user = await signIn();
    const tokens = [
      undefined,
      { token: 'nonsense' },
      { token: `${user.token}x` },
      forge(user, 'x'.repeat(64)),
      forge(user, JWT_SECRET, Date.now() / 1000 - 1),
    ];
    const ip = newIp();
    for (const as of tokens) expect((await post('/auth/logout', ip, as)).status).toBe(401);
    const asked = await app.readsDuring(async () => {
      for (let i = 0; i < 20; i++)
        for (const as of tokens)
          for (const url of ['/auth/logout', '/auth/logout/all']) {
            const { status, body } = await post(url, ip, as);
            // A hundred count toward the other limit as well.
            const error = i * 10 < 90 ? 'Too many login attempts' : expect.stringContaining('Too many');
            expect([status, body.error]).toEqual([429, error]);
          }
    });
    expect(asked).toEqual([]);
    expect((await get('/pools', ip)).body.code).toBe('rate_limited_general');
    // The flood has not locked out who has the token.
    expect((await post('/auth/logout', ip, user)).status).toBe(200);
  });

  it('counts with a valid token, too', async () => {
    const ip = newIp();
    for (let i = 0; i < 5; i++) {
      const answer = await post('/auth/logout', ip, await signIn());
      expect([answer.status, answer.headers['x-ratelimit-remaining']]).toEqual([200, `${4 - i}`]);
    }
    expect((await get('/auth/nonce', ip)).status).toBe(429);
  });

  it('under /users/me does not count as an attempt to sign in', async () => {
    const ip = newIp();
    for (let i = 0; i < 6; i++) expect((await post('/users/me/logout', ip, await signIn())).status).toBe(200);
    const { headers } = await get('/auth/nonce', ip);
    expect(headers['x-ratelimit-remaining']).toBe('4');
  });
});

describe('a nonce at each load of a page', () => {
  it('does not lock a person out, who signs in after 60 of them', async () => {
    const [wallet, ip] = [newWallet(), newIp()];
    const nonces = new Set<string>();
    for (let load = 0; load < 60; load++) {
      const asked = { method: 'POST', url: '/users/nonce', ip, body: { address: wallet.address } };
      const { body } = load % 2 ? await app.send(asked) : await get('/api/users/nonce', ip);
      expect(body).toEqual({ success: true, data: { nonce: body.nonce }, nonce: body.nonce });
      nonces.add(body.nonce as string);
    }
    expect(nonces.size).toBe(60);
    for (const nonce of [[...nonces][0], [...nonces][59]]) {
      const message = siweMessage({ address: wallet.address, nonce });
      const body = { message, signature: await wallet.signMessage({ message }) };
      expect((await app.send({ method: 'POST', url: '/auth/verify', ip, body })).status).toBe(200);
    }
  });

  it('still has the general limit, and gives nobody more attempts', async () => {
    const ip = newIp();
    for (let i = 0; i < 10; i++) await get('/users/nonce', ip);
    for (let i = 0; i < 5; i++) expect((await post('/auth/verify', ip)).status).toBe(401);
    expect((await post('/auth/verify', ip)).body.error).toBe('Too many login attempts');
    await exhaust(ip, 84, '/users/nonce');
  });
});
