import { randomUUID } from 'node:crypto';
import { Gauge, register } from 'prom-client';
import { getToken } from '@willsoto/nestjs-prometheus';
import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { Unfinished } from '#extensions/people/unfinished';
import { type TestApp, until, useApp } from '../support/app';

describe('metrics', () => {
  const app = useApp();
  const requests = (method: string, route: string, status: number): Promise<number> =>
    app.metric(`http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`);

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
    const { text } = await app.get('/metrics');
    const watched = {
      histogram: 'http_request_duration_seconds',
      counter: 'sign_ins_total pools_created_total standby_reads_total slow_reads_total',
      gauge: `database_connections database_clock_offset_seconds account_deletion_age_seconds event_streams_open
        operator_record_open_seconds savings_build_info nodejs_eventloop_lag_seconds process_resident_memory_bytes`,
    };
    for (const [type, names] of Object.entries(watched))
      for (const name of names.split(/\s+/)) expect(text).toContain(`# TYPE ${name} ${type}\n`);
    for (const state of ['busy', 'idle', 'waiting'])
      expect(text).toContain(`database_connections{state="${state}"} `);
    await until(async () =>
      /^database_connections\{state="idle"\} [1-9]/m.test((await app.get('/metrics')).text),
    );
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
    expect(await app.metrics()).not.toContain(secret);
  });

  it('count created pools by type, not repeated or refused ones', async () => {
    const user = await app.signIn();
    const count = (type: string): Promise<number> => app.metric(`pools_created_total{type="${type}"}`);
    const before = await count('rotating');
    await app.createPool(user, { type: 'rotating' });
    const body = { type: 'rotating', initialDeposit: '10000000000000000000' };
    for (let i = 0; i < 3; i++) await app.post('/pools', body, user, { 'idempotency-key': 'same' });
    await app.post('/pools', { ...body, initialDeposit: '1' }, user);
    expect(await count('rotating')).toBe(before + 2);
    expect(await count('lottery')).toBe(0);
  });
});

/** How often the text is made while this runs, and the most that one a second allows. */
async function makings(
  work: (made: () => number) => Promise<unknown>,
): Promise<{ made: number; allowed: number }> {
  let made = 0;
  new Gauge({ name: 'makings', help: 'Of this test', collect: () => void made++ });
  const begun = performance.now();
  try {
    await work(() => made);
  } finally {
    register.removeSingleMetric('makings');
  }
  return { made, allowed: 1 + Math.ceil((performance.now() - begun) / 1000) };
}

const read = (app: TestApp, times: number, as?: { token: string }): Promise<number[]> =>
  Promise.all(Array.from({ length: times }, async () => (await app.get('/metrics', as)).status));

describe('the text', () => {
  const app = useApp();

  it('is made at most once a second, however many read it', async () => {
    const { made, allowed } = await makings(async () => {
      for (let i = 0; i < 10; i++) expect(new Set(await read(app, 50))).toEqual(new Set([200]));
    });
    expect(made).toBeLessThanOrEqual(allowed);
    expect(made).toBeLessThan(500);
  });

  it('is sent whatever query monitors add to the path', async () => {
    for (const query of ['?x=1', '?_=1&target=a&target=b', '?x[y]=1', '?%zz'])
      expect([query, (await app.get(`/metrics${query}`)).status]).toEqual([query, 200]);
  });
});

describe('what was begun and has not ended', () => {
  const app = useApp();
  const seconds = async (name: string): Promise<number> => {
    const { text } = await app.get('/metrics');
    return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
  };
  /** Without the rest between two questions. */
  const measure = () =>
    new Unfinished(
      app.nest.get(Database),
      app.nest.get<Gauge>(getToken('account_deletion_age_seconds')),
      app.nest.get<Gauge>(getToken('operator_record_open_seconds')),
    ).measure();

  it('is told by its age, after scrapes that do not wait for it', async () => {
    // Deletions that are not complete, which no process goes on with meanwhile.
    jest.spyOn(app.nest.get(ExpiredRows), 'sweep').mockResolvedValue(0);
    expect([
      await seconds('account_deletion_age_seconds'),
      await seconds('operator_record_open_seconds'),
    ]).toEqual([0, 0]);
    // What the scrape asked for has come.
    await app.nest.get(Unfinished).measure();
    await app.sql(`
      INSERT INTO account_deletions (address, requested_at) VALUES
        ('0x${'1'.repeat(40)}', now() - interval '2 hours'), ('0x${'2'.repeat(40)}', now() - interval '1 hour');
      ALTER TABLE operator_records DISABLE TRIGGER keep_operator_records;
      INSERT INTO operator_records (command, person, begun_at, ended_at, outcome) VALUES
        ('replay', 'Ada', now() - interval '9 hours', now() - interval '8 hours', 'done'),
        ('replay', 'Ada', now() - interval '5 hours', NULL, NULL),
        ('replay', 'Ada', now() - interval '4 hours', NULL, NULL);
      ALTER TABLE operator_records ENABLE TRIGGER keep_operator_records`);
    await measure();
    const ages = await app.metrics();
    expect(ages).toMatch(/^account_deletion_age_seconds 72\d\d(\.\d+)?$/m);
    expect(ages).toMatch(/^operator_record_open_seconds 180\d\d(\.\d+)?$/m);
    await app.sql(`
      DELETE FROM account_deletions;
      UPDATE operator_records SET outcome = 'failed' WHERE ended_at IS NULL`);
    await measure();
    expect(await app.metrics()).toMatch(/^account_deletion_age_seconds 0$/m);
    expect(await app.metrics()).toMatch(/^operator_record_open_seconds 0$/m);
  });
});

describe('metrics with METRICS_TOKEN', () => {
  const token = 'the token of the scraper';
  const previous = 'the token it had before';
  const app = useApp({ METRICS_TOKEN: token, METRICS_PREVIOUS_TOKEN: previous });

  it('are not made for those without it', async () => {
    const { made } = await makings(async () => {
      expect(new Set(await read(app, 100, { token: 'another' }))).toEqual(new Set([401]));
      expect(new Set(await read(app, 100))).toEqual(new Set([401]));
    });
    expect(made).toBe(0);
    expect(await read(app, 1, { token })).toEqual([200]);
  });

  it('need that token', async () => {
    for (const each of [token, previous])
      expect((await app.get('/metrics', { token: each })).status).toBe(200);
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
