import { type Response, useApp } from '../support/app';

const OURS = 'https://app.example.org';
const EVIL = 'https://evil.example';
const FORBIDDEN = [403, { success: false, error: 'Forbidden', code: 'cross_site_request' }];
type Headers = Record<string, string>;

/** Headers that browsers send with requests of pages (Fetch Metadata, and Origin). */
const fetchMetadata = (site: string, mode: string, dest = 'empty'): Headers => ({
  'sec-fetch-site': site,
  'sec-fetch-mode': mode,
  'sec-fetch-dest': dest,
});
const preflightOf = (origin: string): Headers => ({ origin, 'access-control-request-method': 'POST' });
const text = { 'content-type': 'text/plain' };

/** From a page of evil.example. */
const FOREIGN: [string, string, Headers][] = [
  ['an image', 'GET', fetchMetadata('cross-site', 'no-cors', 'image')],
  ['the same by HEAD', 'HEAD', fetchMetadata('cross-site', 'no-cors')],
  ['a beacon', 'POST', { ...fetchMetadata('cross-site', 'no-cors'), ...text, origin: EVIL }],
  ['an image of a page on a sibling host', 'GET', fetchMetadata('same-site', 'no-cors', 'image')],
  ['a frame', 'GET', fetchMetadata('cross-site', 'navigate', 'iframe')],
  ['a form', 'POST', { ...fetchMetadata('cross-site', 'navigate', 'document'), ...text, origin: EVIL }],
  [
    'a form in a frame',
    'POST',
    { ...fetchMetadata('cross-site', 'navigate', 'iframe'), ...text, origin: 'null' },
  ],
  ['a WebSocket', 'GET', { ...fetchMetadata('cross-site', 'websocket', 'websocket'), origin: EVIL }],
  ['a fetch that CORS keeps from it', 'GET', { ...fetchMetadata('cross-site', 'cors'), origin: EVIL }],
  ['that of a sandboxed frame', 'GET', { ...fetchMetadata('cross-site', 'cors'), origin: 'null' }],
  ['a look-alike of ours', 'GET', { ...fetchMetadata('cross-site', 'cors'), origin: `${OURS}.evil.example` }],
  ['ours as a user name', 'GET', { ...fetchMetadata('cross-site', 'cors'), origin: `${OURS}@evil.example` }],
  ['no mode', 'GET', { 'sec-fetch-site': 'cross-site' }],
  ['a fetch by an old browser', 'GET', { origin: EVIL }],
];

describe('a request that a foreign page has the browser send', () => {
  const app = useApp({
    RATE_LIMIT_AUTH: '5',
    RATE_LIMIT_GENERAL: '100',
    SIWE_DOMAINS: 'app.example.org, other.example:8443',
    CORS_ORIGINS: 'https://cors.example',
  });
  let client = 0;
  const nextClient = (): string => `198.51.100.${++client}`;
  const send = (method: string, url: string, headers: Headers, ip: string): Promise<Response> =>
    app.send({ method, url, headers, ip, body: method === 'POST' ? 'x' : undefined });
  /** The client's remaining requests to /auth, and to other paths. */
  const left = async (ip: string): Promise<number[]> => {
    const general = await send('GET', '/pools', {}, ip);
    const auth = await send('GET', '/auth/nonce', {}, ip);
    return [general, auth].map(({ headers }) => Number(headers['x-ratelimit-remaining']));
  };

  it("does not use up the visitor's limit: five of them, then a sign-in", async () => {
    const ip = nextClient();
    for (let i = 0; i < 150; i++)
      expect((await send('GET', '/auth/nonce', fetchMetadata('cross-site', 'no-cors'), ip)).status).toBe(403);
    const headers = fetchMetadata('same-origin', 'cors');
    expect((await send('GET', '/auth/nonce', headers, ip)).status).toBe(200);
  });

  const paths = '/auth/nonce /auth/verify /auth/me /auth/logout /auth/logout/all /auth/x /auth'.split(' ');
  it.each(FOREIGN)('is 403 and counts toward no limit, at every path: %s', async (_, method, headers) => {
    const ip = nextClient();
    for (const path of [...paths, '/pools', '/nowhere'])
      for (const url of [path, `/api${path}`, `${path}?x=1`]) {
        const answer = await send(method, url, headers, ip);
        expect([url, answer.status]).toEqual([url, 403]);
        if (method !== 'HEAD') expect([answer.status, answer.body]).toEqual(FORBIDDEN);
        expect(answer.headers).not.toHaveProperty('x-ratelimit-remaining');
      }
    expect(await left(ip)).toEqual([99, 4]);
  });

  it('is 403 for other spellings of the paths too', async () => {
    const ip = nextClient();
    for (const url of '//auth/nonce /auth/%6eonce /auth/nonce/ /AUTH/nonce /auth%2fnonce /auth/%zz'.split(
      ' ',
    ))
      expect((await send('GET', url, fetchMetadata('cross-site', 'no-cors'), ip)).status).toBe(403);
    expect(await left(ip)).toEqual([99, 4]);
  });

  it('that follows a link is 403 only under /auth', async () => {
    const ip = nextClient();
    const link = fetchMetadata('cross-site', 'navigate', 'document');
    expect((await send('GET', '/auth/nonce', link, ip)).status).toBe(403);
    expect((await send('GET', '/api/auth/me', link, ip)).status).toBe(403);
    expect((await send('GET', '/pools', link, ip)).status).toBe(401);
    expect(await left(ip)).toEqual([98, 4]);
  });

  it('leaves probes and metrics open to images and frames too', async () => {
    for (const url of ['/health', '/health/live', '/metrics'])
      for (const mode of ['no-cors', 'cors', 'navigate'])
        expect((await send('GET', url, fetchMetadata('cross-site', mode), nextClient())).status).toBe(200);
  });

  it('opens the documentation by a link, and does not load its parts elsewhere', async () => {
    const ip = nextClient();
    const link = fetchMetadata('cross-site', 'navigate', 'document');
    expect((await send('GET', '/docs', link, ip)).status).toBe(200);
    for (const mode of ['no-cors', 'cors'])
      expect(
        (await send('GET', '/docs/assets/swagger-ui.css', fetchMetadata('cross-site', mode), ip)).status,
      ).toBe(403);
    expect(
      (await send('GET', '/docs/assets/swagger-ui.css', fetchMetadata('same-origin', 'no-cors'), ip)).status,
    ).toBe(200);
  });

  it.each<[string, Headers]>([
    ['a client that is no browser', {}],
    ['a page of the same origin', fetchMetadata('same-origin', 'cors')],
    [
      'the same, behind a proxy that names another host',
      { ...fetchMetadata('same-origin', 'cors'), origin: 'https://front.example' },
    ],
    ['an address that the user typed', fetchMetadata('none', 'navigate', 'document')],
    ['an allowed origin', { ...fetchMetadata('cross-site', 'cors'), origin: 'https://cors.example' }],
    ['a site that may sign in', { ...fetchMetadata('cross-site', 'cors'), origin: OURS }],
    ['the same on a sibling host', { ...fetchMetadata('same-site', 'cors'), origin: OURS }],
    ['one with a port', { ...fetchMetadata('same-site', 'cors'), origin: 'https://other.example:8443' }],
    ['an old browser on an allowed origin', { origin: 'https://cors.example' }],
    ['an old browser on the same origin', { origin: 'https://api.example', host: 'api.example' }],
  ])('is none of these: %s', async (_, headers) => {
    const ip = nextClient();
    expect((await send('GET', '/auth/nonce', headers, ip)).status).toBe(200);
    expect((await send('GET', '/pools', headers, ip)).status).toBe(401);
    expect(await left(ip)).toEqual([97, 3]);
  });

  it('may be a preflight, which is answered and not counted', async () => {
    const ip = nextClient();
    for (const origin of [EVIL, 'https://cors.example']) {
      const headers = { ...fetchMetadata('cross-site', 'cors'), ...preflightOf(origin) };
      expect((await send('OPTIONS', '/auth/verify', headers, ip)).status).toBeLessThan(500);
    }
    expect(await left(ip)).toEqual([99, 4]);
  });
});

describe('without CORS_ORIGINS and SIWE_DOMAINS', () => {
  const app = useApp({ RATE_LIMIT_AUTH: '5' });

  it('preflights of foreign pages are 403 and not counted', async () => {
    const headers = { ...fetchMetadata('cross-site', 'cors'), ...preflightOf(EVIL) };
    for (let i = 0; i < 10; i++)
      expect((await app.send({ method: 'OPTIONS', url: '/auth/verify', headers })).status).toBe(403);
    expect((await app.get('/auth/nonce')).headers['x-ratelimit-remaining']).toBe('4');
  });

  it('an Origin alone does not count as foreign', async () => {
    expect((await app.get('/auth/nonce', undefined, { origin: EVIL })).status).toBe(200);
  });
});

describe('with CORS_ORIGINS=*', () => {
  const app = useApp({ CORS_ORIGINS: '*', SIWE_DOMAINS: 'app.example.org' });

  it('every page may fetch, and none without CORS', async () => {
    const fetched = { ...fetchMetadata('cross-site', 'cors'), origin: EVIL };
    expect((await app.get('/auth/nonce', undefined, fetched)).status).toBe(200);
    expect((await app.get('/auth/nonce', undefined, fetchMetadata('cross-site', 'no-cors'))).status).toBe(
      403,
    );
  });
});

describe('pages that a developer serves on the same machine', () => {
  const development = useApp({ NODE_ENV: 'development' });
  const other = useApp({ CORS_ORIGINS: 'https://app.example.org', SIWE_DOMAINS: 'app.example.org' });
  const LOCAL = ['http://localhost:5173', 'http://localhost', 'http://127.0.0.1:3000', 'http://[::1]:8080'];
  const ask = async (app: typeof other, origin: string): Promise<unknown[]> => {
    const headers = { ...fetchMetadata('same-site', 'cors'), origin };
    const answer = await app.send({ url: '/auth/nonce', headers });
    const preflight = await app.send({ method: 'OPTIONS', url: '/pools', headers: preflightOf(origin) });
    const allowed = 'access-control-allow-origin';
    return [answer.status, answer.headers[allowed], preflight.headers[allowed]];
  };

  it('may call the service in development', async () => {
    for (const origin of LOCAL) expect(await ask(development, origin)).toEqual([200, origin, origin]);
  });

  it('may not otherwise', async () => {
    for (const origin of LOCAL) expect(await ask(other, origin)).toEqual([403, undefined, undefined]);
  });

  it('are no others, in development either', async () => {
    for (const origin of [
      'https://evil.example',
      'http://localhost.evil.example',
      'http://evil.example:80#http://localhost',
      'http://localhost:5173.evil.example',
      'http://user@localhost:5173',
      'http://10.0.0.1:5173',
      'null',
    ])
      expect([origin, ...(await ask(development, origin))]).toEqual([origin, 403, undefined, undefined]);
    // What such a page sends without CORS would be counted all the same.
    const headers = { ...fetchMetadata('same-site', 'no-cors', 'image'), referer: LOCAL[0] };
    expect((await development.send({ url: '/pools', headers })).status).toBe(403);
  });
});
