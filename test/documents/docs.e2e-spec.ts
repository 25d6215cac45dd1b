import zlib, { gunzipSync } from 'node:zlib';
import { type TestApp, useApp } from '../support/app';

describe('/docs', () => {
  const app = useApp({ RATE_LIMIT_GENERAL: '100' });
  const inject = (url: string, remoteAddress = '192.0.2.1') => app.nest.inject({ url, remoteAddress });

  it('has a policy without eval and inline scripts, and no inline script', async () => {
    for (const url of ['/docs', '/docs/', '/api/docs']) {
      const { statusCode, headers, payload } = await inject(url);
      expect(statusCode).toBe(200);
      const policy = String(headers['content-security-policy']);
      expect(policy).toMatch(/default-src 'none'; script-src 'self';/);
      expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe|\*|https?:/);
      expect(payload).not.toMatch(/<script(?![^>]*src=)|\son\w+=/);
    }
  });

  it('serves all that the page loads, for caches to keep, and neither source maps nor anything else', async () => {
    const { payload } = await inject('/docs');
    const loaded = [...payload.matchAll(/(?:src|href)="\.\/(docs\/assets\/.*?)"/g)].map(([, path]) => path);
    expect(loaded).toHaveLength(5);
    // What the modules import.
    loaded.push(
      'docs/assets/sign-in.js',
      ...['sha3', '_u64', 'utils'].map((name) => `docs/assets/noble/${name}.js`),
    );
    for (const url of loaded) {
      const { statusCode, headers } = await inject(`/${url}`);
      expect([url, statusCode]).toEqual([url, 200]);
      expect(headers['cache-control']).toMatch(/max-age|no-cache/);
      expect((await inject(`/${url}.map`)).statusCode).toBe(404);
    }
    for (const url of [
      'package.json',
      'index.html',
      '../package.json',
      'noble/sha2.js',
      'page/page.js',
      '..%2fpackage.json',
      'swagger-ui.js',
      '',
    ])
      expect([url, (await inject(`/docs/assets/${url}`)).statusCode]).toEqual([url, 404]);
    expect((await inject('/docs/openapi.json')).json()).toHaveProperty('openapi');
  });

  it('is where / leads, also behind a prefix', async () => {
    const origin = 'https://example.org';
    for (const [asked, prefix] of [
      ['/', ''],
      ['/', '/savings'],
      ['/?x=1', ''],
      ['/api', ''],
      ['/api/', '/savings'],
      ['/api?x', '/savings'],
      ['/docs-json', ''],
      ['/api/docs-json', '/savings'],
    ]) {
      const { statusCode, headers } = await inject(asked);
      expect([asked, statusCode]).toEqual([asked, 302]);
      const target = new URL(String(headers.location), origin + prefix + asked).pathname;
      expect([asked, target.slice(prefix.length)]).toEqual([
        asked,
        `${asked.startsWith('/api') ? '/api/docs' : '/docs'}${asked.endsWith('json') ? '/openapi.json' : ''}`,
      ]);
      expect((await inject(target.slice(prefix.length))).statusCode).toBe(200);
    }
  });

  it('has limits of its own, and leaves those of the API', async () => {
    const left = async (url: string): Promise<unknown> =>
      (await inject(url, '192.0.2.9')).headers['x-ratelimit-remaining'];
    for (const url of ['/docs', '/docs/openapi.json', '/docs/assets/page.js', '/', '/docs/assets/nope'])
      expect([url, await left(url)]).toEqual([url, '99']);
    expect([await left('/docs/'), await left('/pools')]).toEqual(['98', '98']);
  });
});

describe('what the page at /docs loads', () => {
  const app = useApp();
  const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    app.nest.inject({ method, url, headers });
  const BUNDLE = '/docs/assets/swagger-ui-bundle.js';

  it('is compressed once for all requests', async () => {
    const compressor = jest.spyOn(zlib, 'gzip');
    const urls = [
      BUNDLE,
      '/docs/assets/swagger-ui.css',
      '/docs/assets/page.js',
      '/docs',
      '/docs/openapi.json',
    ];
    for (let round = 0; round < 2; round++)
      await Promise.all(urls.map((url) => get(url, { 'accept-encoding': 'gzip' })));
    expect(compressor.mock.calls.length).toBe(urls.length);
    jest.restoreAllMocks();
  });

  it.each([
    [BUNDLE, 'public, max-age=3600', 'application/javascript; charset=utf-8'],
    ['/docs/assets/page.js', 'public, max-age=0', 'application/javascript; charset=utf-8'],
    ['/docs/assets/page.css', 'public, max-age=0', 'text/css; charset=utf-8'],
    ['/docs', 'no-cache', 'text/html; charset=utf-8'],
    ['/docs/openapi.json', 'no-cache', 'application/json; charset=utf-8'],
  ])('is the same in every encoding, with one tag: %s', async (url, caching, type) => {
    const plain = await get(url);
    const gzip = await get(url, { 'accept-encoding': 'gzip' });
    const head = await get(url, { 'accept-encoding': 'gzip' }, 'HEAD');
    const known = await get(url, { 'if-none-match': String(plain.headers.etag), 'accept-encoding': 'gzip' });
    // Jest compares byte by byte, which takes long.
    expect(gunzipSync(gzip.rawPayload).equals(plain.rawPayload)).toBe(true);
    expect([known.statusCode, known.payload]).toEqual([304, '']);
    expect([head.payload, head.headers['content-length']]).toEqual(['', gzip.headers['content-length']]);
    for (const { headers } of [plain, gzip, head, known])
      expect([headers['cache-control'], headers.vary, headers.etag]).toEqual([
        caching,
        'Accept-Encoding',
        plain.headers.etag,
      ]);
    for (const { headers } of [plain, gzip, head]) expect(headers['content-type']).toBe(type);
    expect([plain, gzip, known].map(({ headers }) => headers['content-encoding'])).toEqual([
      undefined,
      'gzip',
      undefined,
    ]);
    expect((await get(url, { 'if-none-match': 'W/"another"' })).statusCode).toBe(200);
  });

  it('is not compressed where that is of no use', async () => {
    const { headers } = await get('/docs/assets/favicon-32x32.png', { 'accept-encoding': 'gzip' });
    expect([headers['content-type'], headers['content-encoding'], headers.vary]).toEqual([
      'image/png',
      undefined,
      undefined,
    ]);
  });
});

describe('the address of the service in the document', () => {
  const plain = useApp({ TRUST_PROXY: '192.0.2.7' });
  const named = useApp({ PUBLIC_URL: 'https://example.org/savings' });
  const ask = (app: TestApp, headers: Record<string, string>, path = '', remoteAddress = '192.0.2.1') =>
    app.nest.inject({ url: `${path}/docs/openapi.json`, headers, remoteAddress });
  const urls = async (answer: ReturnType<typeof ask>): Promise<string[]> =>
    (await answer).json<{ servers: { url: string }[] }>().servers.map(({ url }) => url);
  const forwarded = (host: string, proto = 'https') => ({
    host: 'inner:3001',
    'x-forwarded-host': host,
    'x-forwarded-proto': proto,
  });

  it('is where it was asked for', async () => {
    expect(await urls(ask(plain, { host: 'api.example:8080' }))).toEqual(['http://api.example:8080']);
    expect(await urls(ask(plain, { host: '[::1]:1' }, '/api'))).toEqual(['http://[::1]:1/api']);
  });

  it("is the proxy's behind one that is trusted, and only then", async () => {
    const [proxy, other] = ['192.0.2.7', '192.0.2.8'];
    expect(await urls(ask(plain, forwarded('a.example'), '', proxy))).toEqual(['https://a.example']);
    expect(await urls(ask(plain, forwarded('a.example'), '', other))).toEqual(['http://inner:3001']);
    for (const wrong of [forwarded('a b"'), forwarded('a/b'), forwarded('a', 'javascript')])
      expect(await urls(ask(plain, wrong, '', proxy))).toEqual(['..']);
  });

  it('is what the operator says', async () =>
    expect(await urls(ask(named, { host: 'inner:3001' }, '/api'))).toEqual(['https://example.org/savings']));

  it('makes the service keep few documents, whatever it is called', async () => {
    const compressor = jest.spyOn(zlib, 'gzip');
    const times = async (app: TestApp, hosts: number): Promise<number> => {
      const before = compressor.mock.calls.length;
      for (let n = 0; n < hosts; n++) await ask(app, { host: `h${n}.example`, 'accept-encoding': 'gzip' });
      return compressor.mock.calls.length - before;
    };
    await ask(named, {});
    expect(await times(named, 20)).toBe(0);
    expect([await times(plain, 16), await times(plain, 16)]).toEqual([16, 0]);
    // Ever new names do not keep a known one out for good.
    expect([await times(plain, 17), await times(plain, 17)]).toEqual([1, 17]);
    jest.restoreAllMocks();
  });
});

describe('DOCS=false', () => {
  const app = useApp();
  it('serves no documentation at all', async () => {
    const off = await app.replica({ DOCS: 'false' });
    for (const url of ['/', '/docs', '/docs/', '/docs-json', '/docs/openapi.json', '/docs/assets/page.js']) {
      const { statusCode, payload } = await off.inject({ method: 'GET', url });
      expect([url, statusCode, JSON.parse(payload)]).toEqual([
        url,
        404,
        { success: false, error: 'Not found', message: 'Not found', code: 'not_found' },
      ]);
    }
  });
});
