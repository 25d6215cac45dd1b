import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type QueryResultRow } from 'pg';
import { LIMITS } from '#platform/postgres/budget';
import { type LocalPostgres, startPostgres } from '#dev/postgres';
import { isServer } from '#dev/postgres-host';
import { TEN, type SignedIn, TestApp, until } from '../support/app';
import { migrationSource, query } from '../support/database';

const app = new TestApp();
let dir: string;
let server: LocalPostgres;
let user: SignedIn;
let poolId: string;

// A server of its own, which can be killed while other tests use theirs.
const startServer = async (port?: number): Promise<LocalPostgres> =>
  (server = await startPostgres({ dir: join(dir, 'server'), database: 'savings', port }));

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'outage-'));
  await chmod(dir, 0o755);
  const { url } = await startServer();
  const source = await migrationSource(url);
  await source.runMigrations({ transaction: 'each' });
  await source.destroy();
  await app.start({ DATABASE_URL: url }, undefined, undefined, { limits: LIMITS });
  user = await app.signIn();
  poolId = (await app.createPool(user)).id as string;
});
afterAll(async () => {
  await app.stop();
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Runs in the server, by a superuser's own connection. */
const sql = <Row extends QueryResultRow>(text: string): Promise<Row[]> => query(server.url, text);

/** Clients that read and write, each one request after another, and record the answers. */
class Load {
  readonly created: string[] = [];
  refused = 0;
  private stopping = false;
  private readonly before = this.pools();
  private readonly work = this.before.then(() =>
    Promise.all(Array.from({ length: 12 }, (_, i) => (i % 3 ? this.write() : this.read()))),
  );

  private async pools(): Promise<Set<string>> {
    return new Set((await sql<{ id: string }>('SELECT id FROM pools')).map(({ id }) => id));
  }

  private async read(): Promise<void> {
    while (!this.stopping) expect([200, 503]).toContain((await app.get(`/pools/${poolId}`, user)).status);
  }

  private async write(): Promise<void> {
    while (!this.stopping) {
      const { status, body } = await app.post('/pools', { type: 'individual', initialDeposit: TEN }, user);
      expect([201, 503]).toContain(status);
      if (status === 201) this.created.push(body.data.id as string);
      else this.refused++;
    }
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.work;
  }

  /** Everything acknowledged is there, and at most as much more as may have been committing. */
  async check({ unknown = 12 } = {}): Promise<void> {
    const before = await this.before;
    const after = await this.pools();
    for (const id of this.created) expect(after).toContain(id);
    expect(after.size - before.size - this.created.length).toBeLessThanOrEqual(unknown);
  }
}

const end = {
  'is stopped': () => server.stop(),
  'is killed': async () => {
    process.kill(server.pid, 'SIGKILL');
    await until(() => !isServer(server.pid, server.dataDir));
  },
};

it.each(Object.entries(end))(
  'a server that %s is 503 in time, and work goes on when it is back',
  async (_, stop) => {
    const { pid, port } = server;
    // Some of these are running when it happens.
    const load = new Load();
    await until(() => load.created.length >= 20);
    await stop();
    await until(() => load.refused >= 20);
    await load.stop();

    const paths = [
      '/auth/nonce',
      '/auth/me',
      '/pools',
      `/pools/${poolId}`,
      '/transactions',
      '/analytics/pools',
    ];
    for (const path of paths) {
      const { status, body } = await app.get(path, user);
      expect([path, status, body]).toEqual([
        path,
        503,
        { success: false, error: 'Service unavailable', code: 'unavailable' },
      ]);
    }
    // Probes share one query for half a second.
    await until(async () => (await app.get('/health')).body.status === 'unhealthy');
    const health = await app.get('/health');
    expect([health.status, health.body.status, health.body.services.database]).toEqual([
      200,
      'unhealthy',
      'disconnected',
    ]);
    expect((await app.get('/health/ready')).status).toBe(503);

    expect(await startServer(port)).toMatchObject({ port });
    expect(server.pid).not.toBe(pid);
    await until(async () => (await app.get('/health/ready')).status === 200);
    const { status, body } = await app.get(`/pools/${poolId}`, user);
    expect([status, body.data.balance]).toEqual([200, TEN]);
    await app.createPool(user);
    await load.check();
    expect((await app.get('/health')).body.services.database).toBe('connected');
  },
);

it('a crashing backend takes all others with it: 503, then work continues by itself', async () => {
  for (let round = 0; round < 3; round++) {
    const load = new Load();
    await until(() => load.created.length >= 20);
    // A crash between two statements would refuse none, so a write is under way. The crash ends this lock, too.
    const holder = new Client({ connectionString: server.url });
    holder.on('error', () => undefined);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE pools IN SHARE MODE');
    await until(
      async () =>
        (
          await sql(
            `SELECT FROM pg_stat_activity WHERE application_name = 'api' AND wait_event_type = 'Lock'`,
          )
        ).length > 0,
    );
    const backends = await sql<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'api'`,
    );
    process.kill(backends[round % backends.length].pid, 'SIGKILL');
    await until(() => load.refused > 0);
    const before = load.created.length;
    await until(() => load.created.length >= before + 20);
    await load.stop();
    await load.check();
  }
});

it('on a server that became read-only, only writes are 503, and none takes effect', async () => {
  const setting = async (value: string): Promise<void> => {
    await sql(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await sql('SELECT pg_reload_conf()');
    await until(
      async () =>
        (await sql('SHOW default_transaction_read_only'))[0].default_transaction_read_only === value,
    );
  };
  const load = new Load();
  await until(() => load.created.length >= 20);
  await setting('on');
  try {
    await until(() => load.refused >= 20);
    expect((await app.get(`/pools/${poolId}`, user)).status).toBe(200);
    expect((await app.get('/auth/nonce')).status).toBe(503);
  } finally {
    await setting('off');
  }
  const before = load.created.length;
  await until(() => load.created.length >= before + 20);
  await load.stop();
  await load.check({ unknown: 0 });
});
