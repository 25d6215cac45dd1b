import { TEN, type SignedIn, TestApp, until, useApp } from '../support/app';
import { PATIENT, QUICK, type TestDatabase } from '../support/database';
import { Proxy } from '../support/network/proxy';

const UNAVAILABLE = { success: false, error: 'Service unavailable', code: 'unavailable' };

interface Report {
  status: string;
  services: { database: string; blockchain: string; redis: string };
  block: number | null;
}

const report = async (app: TestApp): Promise<Report> => (await app.get('/health')).body as Report;

describe('health', () => {
  const app = useApp();

  const setChain = (state: string, age = 0, stalled = 0) =>
    app.sql(
      `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, state, beat_at, progress_at)
       VALUES (1, '0x', 1, '0x', now(), 1, $1, now() - make_interval(secs => $2), now() - make_interval(secs => $3))
       ON CONFLICT (id) DO UPDATE
       SET state = excluded.state, beat_at = excluded.beat_at, progress_at = excluded.progress_at`,
      [state, age, stalled],
    );
  /** The first report that says so. */
  const becomes = async (blockchain: string, set?: () => unknown): Promise<Report> => {
    let latest: Report;
    await until(async () => {
      // Each time, as the age counts when the service looks.
      await set?.();
      latest = await report(app);
      return latest.services.blockchain === blockchain;
    });
    return latest!;
  };
  /** Reports are used again for a moment, so one that says something else comes first. */
  const turns = async (blockchain: string, set: () => unknown): Promise<Report> => {
    const isUp = blockchain === 'disconnected';
    await becomes(isUp ? 'synced' : 'disconnected', () => setChain(isUp ? 'synced' : 'halted'));
    return becomes(blockchain, set);
  };

  it.each(['/health', '/api/health'])('is a report without the envelope: %s', async (path) => {
    await app.sql('DELETE FROM chain_cursor');
    await becomes('disconnected');
    const before = Date.now();
    const uptime = Math.floor(process.uptime());
    const { status, body } = await app.get(path);
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'degraded',
      timestamp: expect.any(String),
      uptime: expect.any(Number),
      services: { database: 'connected', blockchain: 'disconnected', redis: 'disabled' },
      block: null,
    });
    expect(Date.parse(body.timestamp as string)).toBeGreaterThanOrEqual(before);
    expect(Number.isInteger(body.uptime)).toBe(true);
    expect(body.uptime).toBeGreaterThanOrEqual(uptime);
    expect(body.uptime).toBeLessThanOrEqual(process.uptime());
  });

  it.each([
    ['synced', 0, 0, 'synced', 'healthy'],
    ['syncing', 0, 0, 'syncing', 'healthy'],
    ['synced', 14, 0, 'synced', 'healthy'],
    ['synced', 16, 0, 'disconnected', 'degraded'],
    ['syncing', 60, 0, 'disconnected', 'degraded'],
    ['halted', 0, 0, 'disconnected', 'degraded'],
    ['disconnected', 0, 0, 'disconnected', 'degraded'],
    ['synced', 0, 18, 'synced', 'healthy'],
    ['synced', 0, 22, 'disconnected', 'degraded'],
  ])(
    'tells of the indexer: %s, %i s ago, read %i s ago: %s',
    async (state, age, stalled, blockchain, status) => {
      const told = await turns(blockchain, () => setChain(state, age, stalled));
      const services = { database: 'connected', blockchain, redis: 'disabled' };
      expect([told.status, told.services, told.block]).toEqual([status, services, 1]);
    },
  );

  it('is live and ready', async () => {
    expect((await app.get('/health/live')).body).toEqual({ status: 'alive' });
    const up = { database: { status: 'up' }, process: { status: 'up' }, schema: { status: 'up' } };
    expect((await app.get('/health/ready')).body).toEqual({ status: 'ok', info: up, error: {}, details: up });
  });
});

describe('with Redis configured but down', () => {
  // Nothing listens on port 1.
  const app = useApp({ REDIS_URL: 'redis://127.0.0.1:1', RATE_LIMIT_AUTH: '3' });

  it('is degraded and ready, and still enforces limits', async () => {
    expect(await report(app)).toMatchObject({ status: 'degraded', services: { redis: 'disconnected' } });
    expect((await app.get('/health/ready')).status).toBe(200);
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await app.get('/auth/nonce')).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });
});

describe('without the database', () => {
  const app = new TestApp();
  let proxy: Proxy;
  let user: SignedIn;
  let poolId: string;
  /** Short while the database fails. */
  const limits = { ...PATIENT };

  beforeAll(async () => {
    const prepare = async ({ url }: TestDatabase): Promise<NodeJS.ProcessEnv> => {
      proxy = await Proxy.start(url);
      return { DATABASE_URL: proxy.url, DATABASE_POOL_SIZE: '3' };
    };
    await app.start({}, undefined, prepare, { limits });
    user = await app.signIn();
    poolId = (await app.createPool(user)).id as string;
  });
  afterAll(async () => {
    await app.stop();
    await proxy.stop();
  });
  afterEach(() => Object.assign(limits, PATIENT));

  it.each(['refuse', 'hang'] as const)(
    'answers 503 in time, and recovers: connections %s',
    async (failure) => {
      proxy[failure]();
      Object.assign(limits, QUICK);
      const creation = { method: 'POST', url: '/pools', body: { type: 'lottery', initialDeposit: TEN } };
      const requests = [
        ...`/api/pools/${poolId} /pools/${poolId}/yield /transactions/0x${'1'.repeat(64)} /pools /transactions
          /analytics/pools /analytics/user /lottery/current /lottery/winners /auth/me /auth/nonce`
          .split(/\s+/)
          .map((url) => ({ url })),
        creation,
        { ...creation, headers: { 'idempotency-key': 'k' } },
      ];
      // All at once, and more than the pool has connections: the wait for one counts too.
      const ask = (): Promise<unknown> =>
        Promise.all(
          [...requests, ...requests].map(async (request) => {
            const { status, body, headers } = await app.send({ ...request, as: user });
            // A write that was sent on a connection which then ended, or says nothing, may have been done.
            const sent = connected && 'method' in request;
            const code = sent ? expect.stringMatching(/^(unavailable|outcome_unknown)$/) : 'unavailable';
            expect({ url: request.url, status, body, retry: headers['retry-after'] }).toEqual({
              url: request.url,
              status: 503,
              body: { ...UNAVAILABLE, code: code as unknown },
              retry: '1',
            });
          }),
        );
      let connected = true;
      await ask();
      if (failure === 'refuse') {
        connected = false;
        await ask();
      }

      // Probes share one query for half a second.
      await until(async () => (await report(app)).status === 'unhealthy');
      const health = await app.get('/health');
      expect(health.status).toBe(200);
      expect(health.body).toMatchObject({
        status: 'unhealthy',
        services: { database: 'disconnected', blockchain: 'disconnected' },
      });
      const ready = await app.get('/health/ready');
      const details = [{ field: 'database', message: 'disconnected' }];
      expect([ready.status, ready.body]).toEqual([503, { ...UNAVAILABLE, details }]);
      expect((await app.get('/health/live')).status).toBe(200);
      // Requests without the database are answered as usual.
      expect((await app.get('/nope')).status).toBe(404);
      expect((await app.post('/auth/nonce', { address: 'none' })).status).toBe(400);
      expect((await app.get('/pools')).status).toBe(401);

      proxy.restore();
      Object.assign(limits, PATIENT);
      await until(async () => (await app.get('/health/ready')).status === 200);
      await until(async () => (await app.get('/pools', user)).status === 200);
      expect((await app.get(`/pools/${poolId}`, user)).body.data.balance).toBe(TEN);
      await until(async () => (await report(app)).services.database === 'connected');
    },
  );

  it('a report does not wait until requests fail', async () => {
    proxy.hang();
    // Requests have a minute here.
    await until(async () => (await report(app)).status === 'unhealthy');
    proxy.restore();
    await until(async () => (await report(app)).status !== 'unhealthy');
  });
});
