import { randomUUID } from 'node:crypto';
import { until, useApp } from './support/app';

describe('metrics', () => {
  const app = useApp();
  const scrape = async (): Promise<string> => (await app.get('/metrics')).text;
  const value = async (series: string): Promise<number> => {
    const line = (await scrape()).split('\n').find((candidate) => candidate.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? 0);
  };
  const requests = (method: string, route: string, status: number): Promise<number> =>
    value(`http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`);

  it('have the format of Prometheus, need no token, and work with and without /api', async () => {
    for (const url of ['/metrics', '/api/metrics']) {
      const answer = await app.get(url);
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
      for (const line of answer.text.trim().split('\n'))
        expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? -?[\d.e+-]+(Inf)?|\w+(\{.*\})? Nan|)$/i);
    }
  });

  it('include what operators watch', async () => {
    await app.createPool(await app.signIn());
    const text = await scrape();
    for (const [name, type] of [
      ['http_request_duration_seconds', 'histogram'],
      ['sign_ins_total', 'counter'],
      ['pools_created_total', 'counter'],
      ['database_connections', 'gauge'],
      ['standby_reads_total', 'counter'],
      ['slow_reads_total', 'counter'],
      ['nodejs_eventloop_lag_seconds', 'gauge'],
      ['process_resident_memory_bytes', 'gauge'],
    ])
      expect(text).toContain(`# TYPE ${name} ${type}\n`);
    for (const state of ['busy', 'idle', 'waiting'])
      expect(text).toContain(`database_connections{state="${state}"} `);
    await until(async () => (await value('database_connections{state="idle"}')) > 0);
  });

  it('label requests with the matched route, never the raw path', async () => {
    const user = await app.signIn();
    const before = await requests('GET', '/pools/:id', 404);
    const secret = randomUUID();
    for (const url of [`/pools/${secret}`, `/api/pools/${secret}?_=${secret}`, `/%70ools/${secret}`])
      expect((await app.get(url, user)).status).toBe(404);
    await until(async () => (await requests('GET', '/pools/:id', 404)) === before + 3);
    const unknown = await requests('GET', 'unknown', 404);
    await app.get(`/${secret}`);
    await app.get(`/nowhere/${secret}`);
    await until(async () => (await requests('GET', 'unknown', 404)) === unknown + 2);
    await app.get('/pools');
    await until(async () => (await requests('GET', '/pools', 401)) === 1);
    expect(await scrape()).not.toContain(secret);
  });

  it('count created pools by type, not repeated or refused ones', async () => {
    const user = await app.signIn();
    const count = (type: string): Promise<number> => value(`pools_created_total{type="${type}"}`);
    const before = await count('rotating');
    await app.createPool(user, { type: 'rotating' });
    const body = { type: 'rotating', initialDeposit: '10000000000000000000' };
    for (let i = 0; i < 3; i++) await app.post('/pools', body, user, { 'idempotency-key': 'same' });
    await app.post('/pools', { ...body, initialDeposit: '1' }, user);
    expect(await count('rotating')).toBe(before + 2);
    expect(await count('lottery')).toBe(0);
  });
});

describe('metrics with METRICS_TOKEN', () => {
  const token = 'the token of the scraper';
  const app = useApp({ METRICS_TOKEN: token });

  it('need that token', async () => {
    expect((await app.get('/metrics', { token })).status).toBe(200);
    expect((await app.get('/metrics', undefined, { authorization: `bearer ${token}` })).status).toBe(200);
    const user = await app.signIn();
    for (const headers of [
      {},
      { authorization: token },
      { authorization: `Bearer ${token}x` },
      { authorization: `Basic ${token}` },
      { authorization: 'Bearer ' },
      { authorization: `Bearer ${user.token}` },
    ]) {
      const { status, body } = await app.get('/metrics', undefined, headers as Record<string, string>);
      expect([status, body]).toEqual([
        401,
        { success: false, error: 'Invalid token', code: 'invalid_token' },
      ]);
    }
  });
});
