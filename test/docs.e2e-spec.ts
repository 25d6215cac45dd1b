import { createApp } from '#api/app.setup';
import { useApp } from './support/app';

describe('/docs', () => {
  const app = useApp({ RATE_LIMIT_GENERAL: '100' });
  const inject = (url: string, remoteAddress = '192.0.2.1') =>
    app.nest.inject({ method: 'GET', url, remoteAddress });

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
      expect(headers['x-ratelimit-limit']).toBeUndefined();
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
    ]) {
      const { statusCode, headers } = await inject(asked);
      expect([asked, statusCode]).toEqual([asked, 302]);
      const target = new URL(String(headers.location), origin + prefix + asked).pathname;
      expect([asked, target.slice(prefix.length)]).toEqual([
        asked,
        asked.startsWith('/api') ? '/api/docs' : '/docs',
      ]);
      expect((await inject(target.slice(prefix.length))).statusCode).toBe(200);
    }
  });

  it('counts toward the general limit', async () => {
    for (const [i, url] of ['/docs', '/docs/openapi.json', '/docs/', '/docs/assets/nope'].entries())
      expect((await inject(url, '192.0.2.9')).headers['x-ratelimit-remaining']).toBe(`${99 - i}`);
  });
});

describe('DOCS=false', () => {
  const app = useApp();
  it('serves no documentation at all', async () => {
    const off = await createApp({ ...app.environment, DOCS: false });
    try {
      for (const url of ['/', '/docs', '/docs/', '/docs/openapi.json', '/docs/assets/page.js']) {
        const { statusCode, payload } = await off.inject({ method: 'GET', url });
        expect([url, statusCode, JSON.parse(payload)]).toEqual([
          url,
          404,
          { success: false, error: 'Not found', code: 'not_found' },
        ]);
      }
    } finally {
      await off.close();
    }
  });
});
