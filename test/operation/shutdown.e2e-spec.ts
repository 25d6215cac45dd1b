import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Database } from '#platform/database/database';
import { LIST_POOLS } from '#features/pools/pools.sql';
import { drain } from '#api/shutdown';
import { JWT_SECRET, TestApp, until } from '../support/app';
import { type TestDatabase, freshDatabase } from '../support/database';

/** A raw connection, which stays open as long as the server allows. */
class Connection {
  received = '';
  closed = false;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (data) => (this.received += data.toString()));
    socket.on('close', () => (this.closed = true)).on('error', () => undefined);
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Connection(socket);
  }

  send(path: string, token?: string): void {
    const authorization = token ? `Authorization: Bearer ${token}\r\n` : '';
    this.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`);
  }

  write(text: string): void {
    this.socket.write(text);
  }

  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  }

  async answered(times = 1): Promise<void> {
    await until(() => this.statuses.length >= times && /\}$/.test(this.received));
  }
}

describe('draining', () => {
  const app = new TestApp();
  let port: number;

  beforeEach(async () => {
    await app.start();
    await app.nest.listen(0, '127.0.0.1');
    port = (app.nest.getHttpServer().address() as AddressInfo).port;
  });
  afterEach(() => app.stop());

  it('fails readiness at once, and serves until the notice period is over', async () => {
    const before = await Connection.open(port);
    before.send('/health/ready');
    await before.answered();
    expect(before.statuses).toEqual([200]);

    const drained = drain(app.nest, 3000);
    const during = await Connection.open(port);
    during.send('/health/ready');
    await during.answered();
    during.send('/health/live');
    await during.answered(2);
    during.send('/auth/nonce');
    await during.answered(3);
    expect(during.statuses).toEqual([503, 200, 200]);
    expect(during.received).toContain(
      '{"success":false,"error":"Service unavailable","message":"Service unavailable","code":"unavailable","details":[{"field":"process","message":"draining"}]}',
    );
    await drained;
    await expect(Connection.open(port)).rejects.toThrow('ECONNREFUSED');
  });

  it('finishes requests in flight, and does not wait for idle connections', async () => {
    const user = await app.signIn();
    const idle = await Promise.all(Array.from({ length: 5 }, () => Connection.open(port)));
    for (const connection of idle) {
      connection.send('/health/live');
      await connection.answered();
    }
    // A connection that a client opened in advance and never used. The server accepts it before the requests below.
    idle.push(await Connection.open(port));

    // Requests that run until they are released, however long that takes.
    const database = app.nest.get(Database);
    const read = database.read.bind(database);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let running = 0;
    jest.spyOn(database, 'read').mockImplementation(async (statement, values) => {
      if (statement.name === LIST_POOLS.name) {
        running++;
        await released;
      }
      return read(statement, values);
    });
    const [busy, other] = [await Connection.open(port), await Connection.open(port)];
    for (const connection of [busy, other]) connection.send('/pools', user.token);
    await until(() => running === 2);

    const cut = jest.spyOn(app.nest.getHttpServer(), 'closeAllConnections');
    let ended = false;
    const drained = drain(app.nest, 0).then(() => (ended = true));
    await until(() => idle.every(({ closed }) => closed));
    // A request on an open connection while the server closes.
    busy.send('/health/live');
    expect([ended, busy.received]).toEqual([false, '']);
    release();
    await drained;
    await until(() => busy.closed && other.closed);
    expect(other.statuses).toEqual([200]);
    // This connection became idle while the server closed, and was not cut with all the others.
    expect(cut).not.toHaveBeenCalled();
    expect(busy.statuses).toEqual([200, 200]);
    expect(busy.received).toContain('"pagination":{"page":1,"limit":20,"total":0,"pages":0}');
    expect(busy.received).toMatch(/connection: close/i);
  });

  it('cuts a request that never becomes complete, in time', async () => {
    const stuck = await Connection.open(port);
    stuck.write(
      'POST /auth/nonce HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    );
    const open = () =>
      new Promise<number>((resolve) => {
        app.nest.getHttpServer().getConnections((_error, count) => resolve(count));
      });
    await until(async () => (await open()) === 1);
    const asked = Date.now();
    await drain(app.nest, 1500);
    expect(Date.now() - asked).toBeLessThan(10_000);
    await until(() => stuck.closed);
    expect(stuck.received).not.toContain(' 200 ');
  });
});

describe('the process', () => {
  const started: ChildProcess[] = [];
  let database: TestDatabase;
  let settings: Record<string, string>;

  beforeAll(async () => {
    database = await freshDatabase();
    settings = { DATABASE_URL: database.url, JWT_SECRET, HOST: '127.0.0.1', PORT: '0', NODE_ENV: 'test' };
  });
  afterAll(() => database.drop());
  afterEach(async () => {
    for (const child of started.splice(0))
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
  });

  function start(env: Record<string, string>) {
    const main = join(__dirname, '../../src/main.ts');
    const child = spawn(
      process.execPath,
      ['-C', 'source', '-r', require.resolve('../support/processes/typescript'), main],
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
    const listening = async (): Promise<number> => {
      await until(() => output.out.includes('"msg":"listening"') || child.exitCode !== null);
      return Number(/"address":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(output.out)?.[1]);
    };
    return { child, output, exit, listening };
  }

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'ends by itself after %s, with idle connections open',
    async (signal) => {
      const { child, exit, listening, output } = start(settings);
      const connection = await Connection.open(await listening());
      connection.send('/health/ready');
      await connection.answered();
      expect(connection.statuses).toEqual([200]);
      const asked = Date.now();
      child.kill(signal);
      child.kill(signal);
      expect(await exit).toBe(0);
      expect(Date.now() - asked).toBeLessThan(10_000);
      await until(() => connection.closed);
      expect(output.out.match(/"msg":"draining"/g)).toHaveLength(1);
      expect(output.err).toBe('');
    },
  );

  it('names every wrong setting, and starts nothing', async () => {
    const { exit, output } = start({ ...settings, JWT_SECRET: 'short-s3cret', RATE_LIMIT_AUTH: 'many' });
    expect(await exit).toBe(1);
    expect(output.err).toMatch(/^Configuration is wrong:\n {2}JWT_SECRET .*\n {2}RATE_LIMIT_AUTH .*\n$/);
    expect(output.out + output.err).not.toContain('s3cret');
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
