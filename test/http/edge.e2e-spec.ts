import { once } from 'node:events';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { MAX_IDLE } from '#api/shutdown';
import { HttpSettings } from '#platform/http/http.settings';
import { createLogger } from '#platform/log/logger';
import { TestApp, type SignedIn, linesOfRequests } from '../support/app';

const lines: string[] = [];
const sink = { write: (line: string) => void lines.push(line) };
const entries = (): Record<string, unknown>[] =>
  lines.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line) as Record<string, unknown>);
const logger = () => createLogger('info', false, sink);
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(setImmediate);
};
const portOf = (app: TestApp): number => (app.nest.getHttpServer().address() as AddressInfo).port;

async function open(port: number): Promise<Socket & { text: string }> {
  const socket = Object.assign(connect(port, '127.0.0.1'), { text: '' });
  socket.on('error', () => undefined).on('data', (chunk) => (socket.text += chunk.toString()));
  await once(socket, 'connect');
  return socket;
}

describe('a service that clients reach directly', () => {
  const app = new TestApp();
  let user: SignedIn;
  beforeAll(async () => {
    await app.start({ RATE_LIMIT_GENERAL: '500', RATE_LIMIT_AUTH: '100' }, logger());
    user = await app.signIn();
    await app.nest.listen(0, '127.0.0.1');
  });
  afterAll(() => app.stop());

  it('warns once about X-Forwarded-For while TRUST_PROXY is unset', async () => {
    for (const ip of ['192.0.2.1', '192.0.2.2'])
      await app.send({ url: '/pools', ip, headers: { 'x-forwarded-for': '198.51.100.1' } });
    const warned = entries().filter(({ msg }) => String(msg).includes('TRUST_PROXY'));
    expect(warned).toEqual([expect.objectContaining({ level: 'warn', ip: '192.0.2.1' })]);
  });

  it('names an IPv4 client by its plain address on a socket for both', async () => {
    await app.send({ url: '/mapped', ip: '::ffff:192.0.2.44' });
    expect(entries().find(({ path }) => path === '/mapped')).toMatchObject({ ip: '192.0.2.44' });
  });

  it('forbids caches to store private data', async () => {
    const requests = '/pools /auth/me /auth/nonce /pools/x /nope /health /metrics /%zz'.split(' ');
    for (const url of requests)
      for (const as of [user, undefined])
        expect([url, (await app.get(url, as)).headers['cache-control']]).toEqual([url, 'no-store']);
    const verify = await app.post('/auth/verify', {});
    expect([verify.status, verify.headers['cache-control']]).toEqual([401, 'no-store']);
  });

  describe('the body of a request', () => {
    const JSON_TYPE = 'Content-Type: application/json';
    const statuses = (text: string): number[] =>
      [...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => Number(status));
    const begin = async (...headers: string[]) => {
      const socket = await open(portOf(app));
      socket.write(['POST /auth/verify HTTP/1.1', 'Host: a', ...headers].join('\r\n') + '\r\n\r\n');
      return socket;
    };
    const answered = (socket: { text: string }, ...expected: number[]): Promise<void> =>
      until(() => String(statuses(socket.text)) === String(expected));

    it.each([
      [413, [JSON_TYPE, 'Content-Length: 5000000']],
      [415, ['Content-Type: text/plain', 'Content-Length: 5000000']],
      [415, [JSON_TYPE, 'Content-Encoding: gzip', 'Content-Length: 5000000']],
    ])('that is refused with %i is read, so that the client gets the answer: %j', async (status, headers) => {
      const socket = await begin(...headers);
      await answered(socket, status);
      socket.write('x'.repeat(5_000_000));
      socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n');
      await answered(socket, status, 200);
      socket.destroy();
    });

    it('is asked for by 100 Continue', async () => {
      const socket = await begin(JSON_TYPE, 'Expect: 100-continue', 'Content-Length: 2');
      await answered(socket, 100);
      socket.write('{}');
      await answered(socket, 100, 401);
      socket.destroy();
    });

    it('is read whatever else the client expects, under limits and in the log', async () => {
      const before = lines.length;
      const socket = await begin(JSON_TYPE, 'Expect: x', 'Content-Length: 2');
      socket.write('{}');
      await answered(socket, 401);
      expect(socket.text).toMatch(/\r\nx-ratelimit-remaining: /i);
      await until(() => lines.slice(before).join('').includes('/auth/verify'));
      socket.destroy();
    });

    it.each(['gzip, chunked', 'identity, chunked'])(
      'has no transfer coding but chunked: %s',
      async (coding) => {
        const socket = await begin(JSON_TYPE, `Transfer-Encoding: ${coding}`);
        socket.write('2\r\n{}\r\n0\r\n\r\n');
        await answered(socket, 501);
        socket.destroy();
      },
    );
  });

  it('names the scheme of its tokens where one is missing', async () => {
    for (const url of ['/pools', '/auth/me'])
      expect((await app.get(url)).headers['www-authenticate']).toBe('Bearer');
  });

  it('does not report an upload that the client aborts as an error', async () => {
    const before = lines.length;
    const socket = await open(portOf(app));
    socket.write(
      'POST /auth/nonce HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"a":',
    );
    await once(app.nest.getHttpServer(), 'request');
    socket.destroy();
    const logged = () => linesOfRequests(lines.slice(before));
    await until(() => logged().length > 0);
    expect(logged()).toEqual([
      expect.objectContaining({ level: 'info', msg: 'request ended by its client', ip: '127.0.0.1' }),
    ]);
    expect(await app.metrics()).not.toMatch(/route="\/auth\/nonce",status="5/);
  });

  it('closes the oldest idle connections of one address beyond a few hundred, unused ones first', async () => {
    expect(MAX_IDLE).toBeLessThanOrEqual(300);
    const port = portOf(app);
    const get = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
    const resting = await open(port);
    resting.write(get);
    await until(() => resting.text.includes('alive'));
    const unused: Socket[] = [];
    for (let i = 0; i < MAX_IDLE + 19; i++) unused.push(await open(port));
    await until(() => unused.slice(0, 20).every(({ closed }) => closed));
    expect(unused.slice(20).some(({ closed }) => closed)).toBe(false);
    // It is served: a connection with a request is not idle.
    const last = unused.at(-1) as Socket & { text: string };
    last.write(get);
    await until(() => last.text.includes('alive'));
    resting.write(get);
    await until(() => resting.text.split('{"status":"alive"}').length === 3);
    for (const socket of [...unused, resting]) socket.destroy();
  });
});

describe('a service behind proxies', () => {
  const app = new TestApp();
  beforeAll(async () => {
    const TRUST_PROXY = '10.0.0.0/8,127.0.0.1,fd00::/8';
    await app.start({ RATE_LIMIT_AUTH: '2', KEEP_ALIVE_TIMEOUT: '620', TRUST_PROXY }, logger());
    // As by default: an address for both IPv4 and IPv6, where the latter exists.
    await app.nest.listen(0, new HttpSettings().HOST);
  });
  afterAll(() => app.stop());
  const ask = (forwarded: string, ip = '10.0.0.1') =>
    app.send({ url: '/auth/nonce', ip, headers: { 'x-forwarded-for': forwarded } });

  it.each([
    ['a port', ['198.51.100.7:1000', '198.51.100.7:1001', '198.51.100.7'], '198.51.100.7'],
    ['brackets', ['[2001:db8::1]:443', '[2001:db8::1]', '2001:db8::2'], '2001:db8::2'],
    ['what is no address', ['unknown', '198.51.100.1, x', '"'], '10.0.0.1'],
  ])('counts and logs the address alone, with %s', async (_, forms, ip) => {
    const statuses: number[] = [];
    for (const form of forms) statuses.push((await ask(form)).status);
    expect(statuses).toEqual([200, 200, 429]);
    const requests = entries().filter(({ path }) => path === '/auth/nonce');
    expect(requests.at(-1)).toMatchObject({ ip, status: 429 });
  });

  it('listens on IPv6 where it exists, and knows proxies of IPv4 and their clients by plain addresses there', async () => {
    const { address } = app.nest.getHttpServer().address() as AddressInfo;
    const interfaces = Object.values(networkInterfaces()).flat();
    expect(address).toBe(interfaces.some((each) => each?.family === 'IPv6') ? '::' : '0.0.0.0');
    const socket = await open(portOf(app));
    socket.write('GET /by-socket HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.20\r\n\r\n');
    await until(() => socket.text.includes('not_found'));
    expect(entries().find(({ path }) => path === '/by-socket')).toMatchObject({ ip: '198.51.100.20' });
    // Load balancers close their connections before.
    expect(socket.text).toMatch(/\r\nkeep-alive: timeout=620\r\n/i);
    socket.destroy();
  });

  it('lets them hold as many idle connections as they like', async () => {
    const sockets: Socket[] = [];
    for (let i = 0; i < MAX_IDLE + 50; i++) sockets.push(await open(portOf(app)));
    expect((await app.get('/health/live')).status).toBe(200);
    const isAnyClosed = (): boolean => sockets.some(({ closed }) => closed);
    // Not exactly so many: others on this machine may try the port.
    const server = app.nest.getHttpServer() as unknown as { _connections: number };
    await until(() => server._connections >= sockets.length || isAnyClosed());
    expect(isAnyClosed()).toBe(false);
    for (const socket of sockets) socket.destroy();
  });
});
