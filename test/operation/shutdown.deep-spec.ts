import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { JWT_SECRET, until } from '../support/app';
import { type TestDatabase, freshDatabase } from '../support/database';
import { FROM_SOURCE } from '../support/processes/source';

describe('a process', () => {
  const started: ChildProcess[] = [];
  let database: TestDatabase;
  let settings: Record<string, string>;

  beforeAll(async () => {
    database = await freshDatabase();
    settings = { DATABASE_URL: database.url, JWT_SECRET, HOST: '127.0.0.1', PORT: '0', NODE_ENV: 'test' };
  });
  afterAll(async () => {
    for (const child of started) child.kill('SIGKILL');
    await database.drop();
  });

  function start(env: Record<string, string>, entry = 'main', ...args: string[]) {
    const child = spawn(
      process.execPath,
      [...FROM_SOURCE, join(__dirname, `../../src/${entry}.ts`), ...args],
      {
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    started.push(child);
    const output = { out: '', err: '' };
    child.stdout.on('data', (data) => (output.out += String(data)));
    child.stderr.on('data', (data) => (output.err += String(data)));
    // With it the output is complete.
    const exit = once(child, 'close').then(([code]) => code as number);
    return { child, output, exit };
  }

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'ends with 0 after %s, with an idle connection open',
    async (signal) => {
      const { child, exit, output } = start(settings);
      const listening = /"msg":"Server listening at http:\/\/127\.0\.0\.1:(\d+)"/;
      await until(() => listening.test(output.out) || child.exitCode !== null);
      const port = Number(listening.exec(output.out)?.[1]);
      const idle = connect(port, '127.0.0.1');
      idle.write('GET /health/ready HTTP/1.1\r\nHost: x\r\n\r\n');
      const [answer] = (await once(idle, 'data')) as [Buffer];
      expect(answer.toString()).toContain('HTTP/1.1 200');
      child.kill(signal);
      child.kill(signal);
      expect(await exit).toBe(0);
      expect(output.out.match(/listening/g)).toHaveLength(1);
      expect(output.out.match(/"msg":"stopping"/g)).toHaveLength(1);
      expect(output.err).toBe('');
    },
  );

  // Without a handler the signal itself would end it, but not the first process of a container.
  it.each([
    ['main'],
    ['indexer'],
    ['indexer', 'rewind', '--to', '1'],
    ['keeper'],
    ['migrate', 'wait'],
    ['verify'],
  ])('ends by a signal that comes while it starts: %s %s', async (entry, ...args) => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const asked = once(silent, 'connection');
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const there = { DATABASE_URL: `postgres://u:p@${address}/x`, RPC_URL: `http://${address}` };
    const KEEPER_KEY = `0x${'5'.repeat(64)}`;
    const { child, exit } = start({ ...settings, ...there, KEEPER_KEY }, entry, ...args);
    await asked;
    child.kill('SIGTERM');
    // 0: it was far enough to end in order.
    expect([143, 0]).toContain(await exit);
    silent.close();
  });

  it('says in one line that its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { exit, output } = start({ ...settings, PORT: `${port}` });
    expect(await exit).toBe(1);
    expect(output.err).toMatch(/^.*EADDRINUSE.*\n$/);
    other.close();
  });
});
