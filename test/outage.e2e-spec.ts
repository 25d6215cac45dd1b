import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalPostgres, startPostgres } from '../src/local/postgres';
import { isServer } from '../src/local/postgres-host';
import { TEN, type SignedIn, TestApp, until } from './support/app';
import { migrationSource } from './support/database';

jest.setTimeout(120_000);

const app = new TestApp();
let dir: string;
let server: LocalPostgres;
let user: SignedIn;
let poolId: string;

// A server of its own, which may be killed while other tests use theirs.
const startServer = async (port?: number): Promise<LocalPostgres> =>
  (server = await startPostgres({ dir: join(dir, 'server'), database: 'savings', port }));

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'outage-'));
  await chmod(dir, 0o755);
  const { url } = await startServer();
  const source = await migrationSource(url);
  await source.runMigrations({ transaction: 'each' });
  await source.destroy();
  await app.start({ DATABASE_URL: url });
  user = await app.signIn();
  poolId = (await app.createPool(user)).id as string;
});
afterAll(async () => {
  await app.stop();
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

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
    // Some of these are at work when it happens.
    const during = Promise.all(Array.from({ length: 30 }, () => app.get(`/pools/${poolId}`, user)));
    await stop();
    for (const { status } of await during) expect([200, 503]).toContain(status);

    const paths = [
      '/auth/nonce',
      '/auth/me',
      '/pools',
      `/pools/${poolId}`,
      '/transactions',
      '/analytics/pools',
    ];
    for (const path of paths) {
      const start = Date.now();
      const { status, body } = await app.get(path, user);
      expect([path, status, body]).toEqual([path, 503, { success: false, error: 'Service unavailable' }]);
      expect(Date.now() - start).toBeLessThan(5000);
    }
    // A look at the database is shared for half a second.
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
    expect((await app.get('/health')).body.services.database).toBe('connected');
  },
);
