import { once } from 'node:events';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { Database } from '#platform/database/database';
import { LIST_POOLS } from '#features/pools/pools.sql';
import { GRACE_MS, drain } from '#api/shutdown';
import { TestApp, until } from '../support/app';

const NOTICE_MS = 3000;

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

/** Holds the timer of so many milliseconds. @returns what ends it */
function hold(milliseconds: number): () => void {
  const { setTimeout: real } = globalThis;
  let end: (() => void) | undefined;
  const held = (callback: () => void, ms?: number, ...args: []): NodeJS.Timeout => {
    if (ms !== milliseconds) return real(callback, ms, ...args);
    end = callback;
    return real(() => undefined);
  };
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(held);
  return () => end!();
}

describe('draining', () => {
  const app = new TestApp();
  let port: number;
  /** The number of connections that the server has accepted. */
  const open = () =>
    new Promise<number>((resolve) => {
      app.nest.getHttpServer().getConnections((_error, count) => resolve(count));
    });

  beforeEach(async () => {
    await app.start();
    await app.nest.listen(0, '127.0.0.1');
    port = (app.nest.getHttpServer().address() as AddressInfo).port;
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await app.stop();
  });

  it('fails readiness at once, and serves until the notice period is over', async () => {
    const before = await Connection.open(port);
    before.send('/health/ready');
    await before.answered();
    expect(before.statuses).toEqual([200]);

    const endNotice = hold(NOTICE_MS);
    const drained = drain(app.nest, NOTICE_MS);
    const during = await Connection.open(port);
    during.send('/health/ready');
    await during.answered();
    expect(during.statuses).toEqual([503]);
    expect(during.received).toContain(
      '{"success":false,"error":"Service unavailable","message":"Service unavailable","code":"unavailable","details":[{"field":"process","message":"draining"}]}',
    );
    // Clients learn that they need another connection, which is served.
    for (const [i, path] of ['/health/live', '/auth/nonce'].entries()) {
      const connection = i === 0 ? before : await Connection.open(port);
      connection.send(path);
      await until(() => connection.closed);
      expect(connection.statuses.at(-1)).toBe(200);
      expect(connection.received).toMatch(/\r\nconnection: close\r\n(?!.*HTTP)/is);
    }
    await until(() => during.closed);
    endNotice();
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
    // A request on an open connection while the server closes, before the answer to the one before.
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
    for (const { received } of [busy, other]) expect(received.match(/connection: close/gi)).toHaveLength(1);
  });

  it('answers a request that arrives before it closes an idle connection', async () => {
    const late = await Promise.all([Connection.open(port), Connection.open(port)]);
    late[0].send('/health/live');
    await late[0].answered();
    await until(async () => (await open()) === 2);
    const server = app.nest.getHttpServer();
    const closeIdle = server.closeIdleConnections.bind(server);
    jest.spyOn(server, 'closeIdleConnections').mockImplementationOnce(() => {
      for (const connection of late) connection.send('/health/live');
      closeIdle();
    });
    await drain(app.nest, 0);
    await until(() => late.every(({ closed }) => closed));
    expect(late.map(({ statuses }) => statuses)).toEqual([[200, 200], [200]]);
  });

  it('ends streams of events without cutting their connections', async () => {
    const user = await app.signIn();
    const stream = await Connection.open(port);
    stream.send('/events', user.token);
    await until(() => stream.received.includes('\nretry: '));
    const cut = jest.spyOn(app.nest.getHttpServer(), 'closeAllConnections');
    await drain(app.nest, 0);
    await until(() => stream.closed);
    expect(cut).not.toHaveBeenCalled();
  });

  it('cuts a request that never becomes complete', async () => {
    const stuck = await Connection.open(port);
    stuck.write(
      'POST /auth/nonce HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    );
    await until(async () => (await open()) === 1);
    const cut = hold(GRACE_MS);
    const drained = drain(app.nest, 0);
    await until(() => !app.nest.getHttpServer().listening);
    cut();
    await drained;
    await until(() => stuck.closed);
    expect(stuck.received).not.toContain(' 200 ');
  });
});
