import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { LimitsSettings } from '#platform/limits/limits.settings';
import { RateLimitStorage } from '#platform/limits/rate-limit.storage';
import { type Request, type TestApp, until, useApp } from '../support/app';

const GENERAL = { success: false, error: 'Too many requests from this IP', code: 'rate_limited_general' };
const AUTH = { success: false, error: 'Too many login attempts', code: 'rate_limited_auth' };

/** Sends the same request repeatedly. Returns the statuses with their number in a row. */
async function burst(app: TestApp, times: number, request: Request): Promise<string> {
  const runs: [number, number][] = [];
  for (let i = 0; i < times; i++) {
    const { status } = await app.send(request);
    const last = runs.at(-1);
    if (last?.[0] === status) last[1]++;
    else runs.push([status, 1]);
  }
  return runs.map(([status, count]) => `${status}x${count}`).join(' ');
}

let lastIp = 0;
/** A client that no other test uses. */
const newIp = (): string => `203.0.113.${++lastIp}`;

describe('limits', () => {
  // As specified: 100 and 5 in 15 minutes.
  const app = useApp({ RATE_LIMIT_GENERAL: '', RATE_LIMIT_AUTH: '' });

  it('general: 100 requests of any kind, then 429', async () => {
    const ip = newIp();
    const mixed: Request[] = [
      { url: '/pools' },
      { url: '/api/pools' },
      { url: '/nowhere' },
      { url: '/api/transactions/x?y=z' },
      { url: '/pools/%zz' },
      { method: 'POST', url: '/pools', body: '{' },
      { method: 'POST', url: '/pools', body: 'x', headers: { 'content-type': 'text/plain' } },
      { method: 'POST', url: '/pools', body: 'x'.repeat(70_000) },
      { method: 'HEAD', url: '/analytics/pools' },
      { method: 'DELETE', url: '/pools' },
    ];
    for (let i = 0; i < 100; i++) {
      const answer = await app.send({ ...mixed[i % mixed.length], ip });
      expect(answer.status).not.toBe(429);
      expect(answer.headers).toMatchObject({
        'x-ratelimit-limit': '100',
        'x-ratelimit-remaining': `${99 - i}`,
      });
      expect(answer.headers['retry-after']).toBeUndefined();
    }
    for (const request of mixed) {
      const answer = await app.send({ ...request, ip });
      expect(answer.status).toBe(429);
      if (request.method !== 'HEAD') expect(answer.body).toEqual(GENERAL);
      const {
        'retry-after': wait,
        'x-ratelimit-remaining': remaining,
        'x-ratelimit-reset': reset,
      } = answer.headers;
      expect(Number(wait)).toBeGreaterThan(0);
      expect(Number(wait)).toBeLessThanOrEqual(900);
      expect([remaining, reset]).toEqual(['0', wait]);
    }
    expect((await app.send({ url: '/pools', ip: newIp() })).status).toBe(401);
  });

  it('auth: 5 requests, then 429', async () => {
    const ip = newIp();
    expect(await burst(app, 5, { url: '/auth/nonce', ip })).toBe('200x5');
    const answer = await app.send({ url: '/auth/nonce', ip });
    expect([answer.status, answer.body]).toEqual([429, AUTH]);
    expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '0' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect((await app.send({ url: '/pools', ip })).status).toBe(401);
  });

  it.each<[string, Request]>([
    ['/api', { url: '/api/auth/nonce' }],
    ['POST', { method: 'POST', url: '/auth/nonce', body: {} }],
    ['verify', { method: 'POST', url: '/auth/verify', body: {} }],
    ['me', { url: '/auth/me' }],
    ['a body that does not parse', { method: 'POST', url: '/auth/verify', body: '{' }],
    ['a body too large', { method: 'POST', url: '/auth/verify', body: 'x'.repeat(70_000) }],
    ['HEAD', { method: 'HEAD', url: '/auth/nonce' }],
    ['an unknown method', { method: 'DELETE', url: '/auth/nonce' }],
  ])('auth counts %s', async (_, request) => {
    const ip = newIp();
    expect(await burst(app, 5, { ...request, ip })).not.toContain('429');
    const answer = await app.send({ url: '/auth/nonce', ip });
    expect([answer.status, answer.body]).toEqual([429, AUTH]);
  });

  it('auth requests count toward the general limit too, even refused ones', async () => {
    const ip = newIp();
    await burst(app, 40, { url: '/auth/me', ip });
    const { headers } = await app.send({ url: '/pools', ip });
    expect(headers['x-ratelimit-remaining']).toBe('59');
    await burst(app, 59, { url: '/auth/me', ip });
    const general = await app.send({ url: '/pools', ip });
    expect([general.status, general.body]).toEqual([429, GENERAL]);
    const both = await app.send({ url: '/auth/me', ip });
    expect([both.status, both.body]).toEqual([429, GENERAL]);
  });

  it.each(['/health', '/health/live', '/health/ready', '/api/health', '/metrics'])(
    'are not for %s',
    async (url) => {
      const ip = newIp();
      const answers = await burst(app, 30, { url, ip });
      expect(answers).toBe('200x30');
      const { headers } = await app.send({ url: '/pools', ip });
      expect(headers['x-ratelimit-remaining']).toBe('99');
      expect((await app.send({ url, ip })).headers['x-ratelimit-limit']).toBeUndefined();
    },
  );

  it.each('/health/x /health// /healthz /metrics/x /HEALTH //health /docs-json /health%2flive'.split(' '))(
    'are for what only looks like these: %s',
    async (url) => expect((await app.send({ url, ip: newIp() })).headers['x-ratelimit-limit']).toBe('100'),
  );

  it('ignore X-Forwarded-For', async () => {
    const ip = newIp();
    for (let i = 0; i < 5; i++)
      await app.send({ url: '/auth/nonce', ip, headers: { 'x-forwarded-for': `198.51.100.${i}` } });
    const headers = {
      'x-forwarded-for': '198.51.100.99',
      forwarded: 'for=198.51.100.98',
      'x-real-ip': '198.51.100.97',
    };
    expect((await app.send({ url: '/auth/nonce', ip, headers })).status).toBe(429);
  });

  it('let exactly that many simultaneous requests through', async () => {
    const ip = newIp();
    const answers = await Promise.all(Array.from({ length: 30 }, () => app.send({ url: '/auth/nonce', ip })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(25);
  });
});

describe('preflights', () => {
  const app = useApp({ RATE_LIMIT_GENERAL: '2', CORS_ORIGINS: 'https://app.example.org' });

  it('are not counted, and only grant permission', async () => {
    const ip = newIp();
    const origin = 'https://app.example.org';
    const preflight = { origin, 'access-control-request-method': 'POST' };
    for (const url of ['/pools', '/api/auth/verify', '/nowhere'])
      for (const headers of [preflight, { origin }, undefined]) {
        const { status, text, headers: answered } = await app.send({ method: 'OPTIONS', url, ip, headers });
        expect([status, text, answered['x-ratelimit-remaining']]).toEqual([204, '', undefined]);
      }
    expect(await burst(app, 3, { url: '/pools', ip })).toBe('401x2 429x1');
  });
});

describe('the window', () => {
  const app = useApp({ RATE_LIMIT_AUTH: '2', RATE_LIMIT_WINDOW: '60' });

  it('is fixed: full again when it ends, not before', async () => {
    const start = Date.now();
    const clock = jest.spyOn(Date, 'now');
    try {
      const at = async (seconds: number): Promise<[number, string | undefined]> => {
        clock.mockReturnValue(start + seconds * 1000);
        const { status, headers } = await app.send({ url: '/auth/nonce', ip: '203.0.113.200' });
        return [status, headers['retry-after']];
      };
      expect(await at(0)).toEqual([200, undefined]);
      expect(await at(30)).toEqual([200, undefined]);
      expect(await at(30)).toEqual([429, '30']);
      expect(await at(59.9)).toEqual([429, '1']);
      expect(await at(60)).toEqual([200, undefined]);
      expect(await at(60)).toEqual([200, undefined]);
      expect(await at(60)).toEqual([429, '60']);
    } finally {
      clock.mockRestore();
    }
  });
});

it('Redis is asked on another connection, once nothing arrives on one', async () => {
  const ANSWERS: Record<string, string> = { info: '$15\r\nredis_version:7\r\n', ping: '+PONG\r\n' };
  const sockets: Socket[] = [];
  let isSilent = false;
  const redis = createServer((socket) => {
    sockets.push(socket);
    socket
      .on('error', () => undefined)
      .on('data', (data) => {
        if (isSilent && socket === sockets[0]) return;
        for (const [, command] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g))
          socket.write(ANSWERS[command.toLowerCase()] ?? '+OK\r\n');
      });
  }).listen(0, '127.0.0.1');
  await once(redis, 'listening');
  const { port } = redis.address() as AddressInfo;
  const storage = new RateLimitStorage({ ...new LimitsSettings(), REDIS_URL: `redis://127.0.0.1:${port}` });
  await storage.onModuleInit();
  expect(storage.status).toBe('connected');
  isSilent = true;
  await until(() => storage.status === 'disconnected');
  await until(() => storage.status === 'connected');
  await storage.onApplicationShutdown();
  for (const socket of sockets) socket.destroy();
  await once(redis.close(), 'close');
});
