import { TEN, type SignedIn, TestApp, useApp } from '../support/app';
import { raw } from '../support/network/raw';

const NOT_FOUND = [404, { success: false, error: 'Not found', code: 'not_found' }];

describe('http', () => {
  const app = useApp({ CORS_ORIGINS: 'https://app.example.org,https://other.example' });
  let user: SignedIn;

  beforeAll(async () => {
    user = await app.signIn();
  });

  describe('unknown routes', () => {
    it.each(
      `/nope /api/nope /apipools /api/api/pools /pools/a/b/c /auth /auth/verify /auth/nonce/x //pools /.env
      /metrics/x /health/x /%00 /constructor /__proto__ /${'x'.repeat(5000)}`.split(/\s+/),
    )('are 404: %s', async (url) => {
      for (const as of [undefined, user]) {
        const { status, body } = await app.get(url, as);
        expect([status, body]).toEqual(NOT_FOUND);
      }
    });

    it.each(['PUT', 'PATCH', 'DELETE'])('methods that a path does not have: %s', async (method) => {
      for (const url of ['/pools', '/pools/x/position', '/auth/nonce', '/health']) {
        const { status, body } = await app.send({ method, url, as: user });
        expect([status, body]).toEqual(NOT_FOUND);
      }
    });
  });

  describe('paths', () => {
    it('with /api before them, and with a slash at the end, are those without, at every route of the document', async () => {
      const outcome = async (method: string, path: string): Promise<unknown[]> => {
        // What the request does is not asked for: nobody is signed in, and no body is sent.
        const { status, text, headers } = await app.send({ method, url: path });
        const body = status === 401 || status === 400 ? text : '';
        return [status, body, headers['x-ratelimit-limit']];
      };
      for (const [path, methods] of Object.entries(app.validator.document.paths))
        for (const method of Object.keys(methods))
          for (const url of [`${path}/`, `/api${path}`, `/api${path}/`])
            expect([method, url, ...(await outcome(method.toUpperCase(), url))]).toEqual([
              method,
              url,
              ...(await outcome(method.toUpperCase(), path)),
            ]);
      expect((await app.get('/api/docs/openapi.json')).status).toBe(200);
      expect((await app.get('/api/pools', user)).body).toEqual((await app.get('/pools', user)).body);
      const { body } = await app.get('/pools/?limit=5', user);
      expect(body.pagination.limit).toBe(5);
      expect((await app.post('/pools/', { type: 'lottery', initialDeposit: TEN }, user)).status).toBe(201);
      expect((await app.get('/pools//', user)).status).toBe(404);
    });

    it.each(
      `/% /pools/% /pools/%zz /pools/%ff /pools/%c3%28/yield /api/transactions/%E0%A4%A /auth/%zz
      /a%`.split(/\s+/),
    )('that cannot be decoded are 400: %s', async (url) => {
      const { status, body } = await app.get(url, user);
      expect(status).toBe(400);
      expect(body).toMatchObject({
        success: false,
        error: 'Validation failed',
        code: 'malformed_path',
        details: [{ field: 'path' }],
      });
    });

    it('may be encoded, and queries may hold anything', async () => {
      expect((await app.get('/%70ools', user)).status).toBe(200);
      for (const query of ['?', '?_=%', '?%5f=%ff', '?_', '?&&_==', '?_=c&_=1', `?_=${'y'.repeat(8000)}`])
        expect([query, (await app.get(`/analytics/pools${query}`, user)).status]).toEqual([query, 200]);
      for (const query of ['?%', '?%zz=%ff', '?page', '?&&==', '?a[b]=c&a=1', `?x=${'y'.repeat(8000)}`])
        expect([query, (await app.get(`/analytics/pools${query}`, user)).status]).toEqual([query, 400]);
    });
  });

  describe('methods', () => {
    it('HEAD answers as GET does', async () => {
      for (const [url, as, status] of [
        ['/pools', user, 200],
        ['/api/health', undefined, 200],
        ['/pools', undefined, 401],
        ['/pools/x', user, 404],
        ['/nope', user, 404],
      ] as const) {
        const head = await app.send({ method: 'HEAD', url, as });
        expect([url, head.status]).toEqual([url, status]);
        expect(head.headers['content-type']).toBe((await app.get(url, as)).headers['content-type']);
      }
    });
  });

  describe('CORS', () => {
    const preflight = (origin: string) =>
      app.send({
        method: 'OPTIONS',
        url: '/api/pools',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type,idempotency-key',
        },
      });

    it('allows the listed origins, and only those', async () => {
      const answer = await preflight('https://other.example');
      expect(answer.status).toBe(204);
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': 'https://other.example',
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers': 'authorization,content-type,idempotency-key',
      });
      for (const origin of [
        'https://evil.example',
        'http://app.example.org',
        'https://app.example.org.evil',
        'null',
      ])
        expect((await preflight(origin)).headers['access-control-allow-origin']).toBeUndefined();
    });

    it('lets their pages read every answer and its headers, with credentials, and no other page', async () => {
      const CREDENTIALS = 'access-control-allow-credentials';
      expect((await preflight('https://other.example')).headers[CREDENTIALS]).toBe('true');
      for (const url of ['/pools', '/nope', '/health', '/pools/%zz']) {
        const ours = await app.get(url, undefined, { origin: 'https://app.example.org' });
        expect(ours.headers).toMatchObject({
          [CREDENTIALS]: 'true',
          'access-control-allow-origin': 'https://app.example.org',
          'access-control-expose-headers': expect.stringContaining('Retry-After'),
          vary: expect.stringContaining('Origin'),
        });
        for (const origin of ['https://evil.example', 'null', '']) {
          const { headers } = await app.get(url, undefined, { origin });
          expect(headers['access-control-allow-origin']).toBeUndefined();
        }
      }
    });
  });

  describe('headers', () => {
    it("carry the request id, the client's if it is valid", async () => {
      const id = async (given?: string) =>
        (await app.get('/health', undefined, given === undefined ? {} : { 'x-request-id': given })).headers[
          'x-request-id'
        ];
      expect(await id('abc-123_x.Y')).toBe('abc-123_x.Y');
      expect(await id()).toMatch(/^[0-9a-f-]{36}$/);
      expect(await id()).not.toBe(await id());
      for (const bad of ['', 'a b', 'x'.repeat(65), 'é', '{"a":1}', 'a;b'])
        expect(await id(bad)).toMatch(/^[0-9a-f-]{36}$/);
    });

    it('include those that keep browsers careful, on errors too', async () => {
      for (const url of ['/health', '/nope', '/pools', '/pools/%zz', '/metrics'])
        expect((await app.get(url)).headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'SAMEORIGIN',
          'strict-transport-security': expect.stringContaining('max-age='),
          'referrer-policy': 'no-referrer',
          'cross-origin-resource-policy': 'same-origin',
        });
      expect((await app.get('/health')).headers['x-powered-by']).toBeUndefined();
    });
  });

  describe('over a socket', () => {
    beforeAll(() => app.listen());
    const get = (path: string): Promise<string> =>
      raw(app.port!, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);

    it('answers to HEAD have no body, whatever the status', async () => {
      for (const path of ['/health/live', '/pools', '/nope']) {
        const [head, body] = (
          await raw(app.port!, `HEAD ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
        ).split('\r\n\r\n');
        expect(head).toMatch(/^content-length: [1-9]\d*$/im);
        expect(body).toBe('');
      }
    });

    it('unusual request targets are answered like others', async () => {
      expect(await get('/pools/%2e%2e/health')).toMatch(/^HTTP\/1.1 404 /);
      expect(await get('/pools/../health')).toMatch(/^HTTP\/1.1 404 /);
      expect(await get('http://evil.example/health/live')).toMatch(/^HTTP\/1.1 (200|404) /);
      expect(await get('*')).toMatch(/^HTTP\/1.1 404 /);
      expect(await get('/pools/%ff')).toMatch(/^HTTP\/1.1 400 /);
      // Where / leads.
      expect(await get('/api?x')).toMatch(/^HTTP\/1.1 302 /);
      expect(await get('/auth/nonce?%')).toMatch(/^HTTP\/1.1 400 /);
      expect(await get('/health?%')).toMatch(/^HTTP\/1.1 200 /);
      expect(await get('/health?_=%')).toMatch(/^HTTP\/1.1 200 /);
    });
  });
});

describe('CORS', () => {
  const closed = useApp();
  it('is closed unless configured', async () => {
    const answer = await closed.get('/health', undefined, { origin: 'https://app.example.org' });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    const preflight = await closed.send({
      method: 'OPTIONS',
      url: '/pools',
      headers: { origin: 'https://app.example.org', 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.body]).toEqual(NOT_FOUND);
  });

  it.each(['*', 'https://app.example.org, *'])(
    'may be open for all, without credentials: %s',
    async (all) => {
      const open = new TestApp();
      await open.start({ CORS_ORIGINS: all });
      for (const origin of ['https://any.example', 'https://app.example.org', 'null', '*']) {
        const { headers } = await open.get('/health', undefined, { origin });
        expect(headers['access-control-allow-origin']).toBe(origin);
        expect(headers['access-control-allow-credentials']).toBeUndefined();
      }
      await open.stop();
    },
  );
});
