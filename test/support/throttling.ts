import type { TestApp } from './app';

interface Answer {
  status: number;
  error?: string;
  /** Numbers of X-RateLimit-Limit, -Remaining and -Reset. */
  limits: number[];
}

interface Ask {
  method?: 'GET' | 'POST' | 'HEAD' | 'DELETE';
  headers?: Record<string, string>;
  ip?: string;
  body?: string;
}

let lastIp = 0;

/** Every rule of `@Throttle` and `@SkipThrottle`, over as many replicas as there are: requests go to one after another. */
export function itThrottles(apps: () => TestApp[]): void {
  let ip: string;
  beforeEach(() => (ip = `203.0.113.${++lastIp}`));

  let turn = 0;
  const ask = async (url: string, { method = 'GET', headers, body, ...from }: Ask = {}): Promise<Answer> => {
    const replicas = apps();
    const answer = await replicas[turn++ % replicas.length].nest.inject({
      method,
      url,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      payload: body,
      remoteAddress: from.ip ?? ip,
    });
    const { limit, remaining, reset } = Object.fromEntries(
      ['limit', 'remaining', 'reset'].map((name) => [name, answer.headers[`x-ratelimit-${name}`]]),
    );
    const { error } = method === 'HEAD' ? {} : answer.json<{ error?: string }>();
    return {
      status: answer.statusCode,
      error,
      limits: limit === undefined ? [] : [limit, remaining, reset].map(Number),
    };
  };
  /** How many of ten get through, and the limit that the headers tell. */
  const allowed = async (...asks: [string, Ask?][]): Promise<[number, number?]> => {
    let passed = 0;
    let limit: number | undefined;
    for (let i = 0; i < 10; i++) {
      const answer = await ask(...asks[i % asks.length]);
      if (answer.status !== 429) passed++;
      [limit] = answer.limits;
    }
    return [passed, limit];
  };

  it('@Throttle of a controller holds for each of its handlers by itself', async () => {
    expect(await allowed(['/example/limits/controller'])).toEqual([4, 4]);
    expect(await allowed(['/example/limits/inherited'])).toEqual([4, 4]);
    const { limits } = await ask('/example/shared');
    expect(limits.slice(0, 2)).toEqual([20, 19]);
  });

  it('@Throttle of a handler comes before that of its controller, on all its paths and HEAD together', async () => {
    const url = '/api/example/limits/handler';
    expect(await allowed([url], [`${url}-too`], [url, { method: 'HEAD' }])).toEqual([2, 2]);
    const { status, error, limits } = await ask(url);
    expect([status, error]).toEqual([429, 'Too many requests from this IP']);
    // In its own window.
    expect(limits[2]).toBeGreaterThan(0);
    expect(limits[2]).toBeLessThanOrEqual(30);
    expect((await ask(url, { ip: '203.0.113.255' })).status).toBe(200);
  });

  it('a path is the same however it is spelled', async () => {
    const spelled = ['things/a', 'things/b?x=1', '%74hings/c', 'things/%2e%2ex', 'thing%73/d#e'];
    const asks = spelled.map((path): [string] => [`/example/limits/${path}`]);
    expect(await allowed(...asks)).toEqual([3, 3]);
    expect((await ask('/%65xample/limits/things/x')).status).toBe(429);
  });

  it('requests count ahead of their bodies', async () => {
    expect(await allowed(['/example/limits/body', { method: 'POST', body: '{' }])).toEqual([1, 1]);
  });

  it('@SkipThrottle() leaves out all limits, and false brings them back', async () => {
    for (const url of ['/example/limits/skipped', '/example/unlimited', '/example/free/inherited'])
      expect(await allowed([url])).toEqual([10, undefined]);
    expect(await allowed(['/example/unlimited/limited'])).toEqual([10, 20]);
    expect((await ask('/example/free/limited')).limits[1]).toBe(9);
  });

  it('@SkipThrottle({ general: true }) leaves out one, and @Throttle({ auth: {} }) names one', async () => {
    expect(await allowed(['/example/limits/sign-in'], ['/auth/nonce'])).toEqual([3, 3]);
    const { error } = await ask('/example/limits/sign-in');
    expect(error).toBe('Too many login attempts');
    // Five for /auth/nonce.
    expect((await ask('/example/shared')).limits[1]).toBe(14);
  });

  it('unknown paths count as general, those beneath /auth as sign-in too', async () => {
    expect(await allowed(['/example/limits/nowhere'], ['/example/unlimited', { method: 'DELETE' }])).toEqual([
      10, 20,
    ]);
    expect(await allowed(['/auth/x'], ['/api/auth'])).toEqual([3, 3]);
  });
}
