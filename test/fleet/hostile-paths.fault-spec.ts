import { randomUUID } from 'node:crypto';
import { PROTECTED } from '../support/endpoints';
import { raw } from '../support/network/raw';
import { Fleet, report } from '../support/processes/fleet';
import { type Caller, HttpClient, named, signIn, tally } from './http';

const LIMITS = { RATE_LIMIT_GENERAL: '100000', RATE_LIMIT_AUTH: '100000' };
/** Paths that need a token. */
const PATHS = [...new Set(PROTECTED.map(({ path }) => path.replace('/x', `/${randomUUID()}`)))];
const encodeFirst = (path: string): string => `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`;

/** Other spellings of a path, some of which servers, proxies and routers treat as equal. */
const TRICKS: [string, (path: string) => string][] = [
  ['two slashes', (path) => `/${path}`],
  ['/api', (path) => `/api${path}`],
  ['/api twice', (path) => `/api/api${path}`],
  ['/api and two slashes', (path) => `/api/${path}`],
  ['/API', (path) => `/API${path}`],
  ['encoded /api', (path) => `/%61pi${path}`],
  ['upper case', (path) => path.toUpperCase()],
  ['trailing slash', (path) => `${path}/`],
  ['trailing dot', (path) => `${path}/.`],
  ['encoded letter', encodeFirst],
  ['encoded slash', (path) => path.replace(/\/(?=.)/g, '%2f').replace('%2f', '/')],
  ['encoded dots', (path) => `/%2e%2e${path}`],
  ['dots', (path) => `/..${path}`],
  ['from an open path', (path) => `/health/..${path}`],
  ['from an open path, encoded', (path) => `/health/%2e%2e${path}`],
  ['from an open path, encoded slash', (path) => `/health%2f..${path}`],
  ['from the documentation', (path) => `/docs/..${path}`],
  ['from the documentation, encoded', (path) => `/docs/%2e%2e%2f${path.slice(1)}`],
  ['from the metrics', (path) => `/metrics/..;${path}`],
  ['below an open path', (path) => `/health${path}`],
  ['path parameter', (path) => `${path};jsessionid=1`],
  ['semicolon in front', (path) => `/;${path}`],
  ['backslash', (path) => path.replaceAll('/', '\\').replace('\\', '/')],
  ['NUL', (path) => `${path}%00`],
  ['extension', (path) => `${path}.json`],
  ['fragment', (path) => `/health#${path}`],
  ['query that looks like a path', (path) => `${path}?/health`],
  ['overlong UTF-8', (path) => `/%c0%ae%c0%ae${path}`],
  ['absolute form', (path) => `http://app.example.org${path}`],
  ['absolute form of another host', (path) => `http://evil.example${path}`],
];

describe('tricks with paths and headers', () => {
  let fleet: Fleet;
  let client: HttpClient;
  let caller: Caller;
  const answers: { status: number }[] = [];
  beforeAll(async () => {
    fleet = await Fleet.start({ replicas: 1, settings: { ...LIMITS, TRUST_PROXY: '10.0.0.0/8' } });
    client = new HttpClient(fleet.urls[0]);
    caller = await signIn(client);
  });
  afterAll(async () => {
    client?.close();
    await fleet?.stop();
    report('protected paths written otherwise', { requests: answers.length, ...named(tally(answers)) });
  });

  const sent = (bytes: string): Promise<string> => raw(fleet.replicas[0].port, bytes);
  const request = (target: string, headers: string[] = [], method = 'GET'): Promise<string> =>
    sent([`${method} ${target} HTTP/1.1`, 'Host: app', 'Connection: close', ...headers, '', ''].join('\r\n'));
  const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);

  it.each(TRICKS)('%s: no protected data without a token, and every request counts', async (_, trick) => {
    for (const path of PATHS)
      for (const method of ['GET', 'HEAD', 'POST']) {
        const answer = await request(trick(path), method === 'POST' ? ['Content-Length: 0'] : [], method);
        const seen = { target: trick(path), status: statusOf(answer), answer };
        answers.push(seen);
        // An absolute form or a fragment may be read as an open path, whose answers hold no user data.
        if (seen.status === 200) expect(seen.answer).toMatch(/^HTTP[^]*\r\n\r\n($|\{"status":")/);
        else {
          expect([400, 401, 403, 404]).toContain(seen.status);
          // The documentation's files are open and not counted, whatever path below them is requested. The router
          // reads what follows a # as a query, and /health takes none: an open path too.
          if (!/^\/docs\/|^\/health#/.test(seen.target))
            expect(answer).toMatch(/^x-ratelimit-remaining: \d+\r$/im);
        }
        expect(answer).not.toContain('"success":true');
      }
  });

  const authorization = (token: string): string => `Authorization: Bearer ${token}`;

  it('of two Authorization headers the first counts, in whatever order they come', async () => {
    const good = authorization(caller.token);
    expect(statusOf(await request('/pools', [good]))).toBe(200);
    expect(statusOf(await request('/pools', ['Authorization: Bearer x', good]))).toBe(401);
    expect(statusOf(await request('/pools', ['Authorization: Basic eDp5', good]))).toBe(401);
  });

  it.each([
    ['two lengths', ['Content-Length: 2', 'Content-Length: 30']],
    ['length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['chunks of two kinds', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity']],
    ['chunks with a space in front of the colon', ['Transfer-Encoding : chunked']],
    ['a length that is no number', ['Content-Length: +5']],
    ['a folded header', ['X-A: b', ' Content-Length: 5']],
    ['NUL in a header', ['X-A: b\0c']],
  ])('a request whose end is not certain is refused: %s', async (_, headers) => {
    const smuggled = `0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: app\r\n\r\n`;
    const answer = await sent(
      [
        'POST /auth/nonce HTTP/1.1',
        'Host: app',
        'Content-Type: application/json',
        ...headers,
        '',
        smuggled,
      ].join('\r\n'),
    );
    expect(statusOf(answer)).toBe(400);
    expect(answer).toContain('"success":false');
    // What follows it is not answered as a separate request.
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  it('X-Original-URL, X-Rewrite-URL and method overrides change nothing', async () => {
    for (const name of ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix', 'X-Forwarded-Path'])
      expect(statusOf(await request('/pools', [`${name}: /health`]))).toBe(401);
    const overridden = await request('/health', ['X-HTTP-Method-Override: POST', 'X-Original-URL: /pools']);
    expect(overridden).toContain('"services"');
  });
});
