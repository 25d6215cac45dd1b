import { once } from 'node:events';
import { connect } from 'node:net';
import { type SignedIn, useApp } from '../support/app';
import { raw } from '../support/network/raw';

const app = useApp();
let user: SignedIn;
beforeAll(() => app.listen());
beforeEach(async () => {
  user = await app.signIn();
});

/** What an answer is for any caller: without its ids and times. */
interface Told {
  status: number;
  code?: string;
}

/** Sends bytes as they are, because clients of Node correct what they send. */
async function send(method: string, path: string, headers: string[], body = ''): Promise<Told> {
  const head = ['Host: x', `Authorization: Bearer ${user.token}`, 'Connection: close', ...headers];
  const text = await raw(app.port!, `${method} ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`);
  const { code } = JSON.parse(/\{.*\}/s.exec(text)?.[0] ?? '{}') as { code?: string };
  return { status: Number(text.split(' ')[1]), ...(code !== undefined && { code }) };
}

const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/x-www-form-urlencoded',
  'text/plain;charset=UTF-8',
  'multipart/form-data; boundary=x',
  'application/vnd.api+json',
  'nonsense',
];
type Framing = [name: string, headers: string[], body: string];
/** Ways to send nothing. */
const LENGTHS: Framing[] = [
  ['no length', [], ''],
  ['Content-Length: 0', ['Content-Length: 0'], ''],
  ['Content-Length: 000', ['Content-Length: 000'], ''],
];
/** Every type, and every framing. */
const EMPTY: [Framing, string][] = [
  ...TYPES.map((type): [Framing, string] => [LENGTHS[1], type]),
  ...LENGTHS.flatMap((length): [Framing, string][] => [
    [length, TYPES[0]],
    [length, TYPES[3]],
  ]),
];

describe('a body of length 0 is no body', () => {
  it('at every route of the document, also where one is required, whatever its Content-Type and framing', async () => {
    const routes = Object.entries(app.validator.document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== 'get')
        .map((method) => [method.toUpperCase(), path.replace(/\{\w+\}/g, user.user.id)]),
    );
    expect(routes.length).toBeGreaterThan(10);
    const differing: unknown[] = [];
    for (const [method, path] of routes) {
      user = await app.signIn(user.wallet);
      const plain = await send(method, path, []);
      expect([method, path, plain.status]).not.toEqual([method, path, 415]);
      if (path === '/pools') expect(plain).toEqual({ status: 400, code: 'validation_failed' });
      for (const [[length, headers, body], type] of EMPTY) {
        if (path.includes('logout') || path === '/users/me') user = await app.signIn(user.wallet);
        const told = await send(method, path, [...headers, `Content-Type: ${type}`], body);
        if (told.status !== plain.status || told.code !== plain.code)
          differing.push([method, path, length, type, told, plain]);
      }
    }
    expect(differing).toEqual([]);
  });

  it('and a chunked one that has bytes is read, late ones too', async () => {
    const send = (rest: (chunk: (text: string) => void) => void): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(app.port!, '127.0.0.1').setEncoding('utf8').on('error', reject);
        let text = '';
        socket.on('data', (chunk: string) => (text += chunk)).on('close', () => resolve(text));
        socket.write(
          'POST /auth/nonce HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
        );
        rest((chunk) => socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`));
      });
    const [begin, end] = ['{"address":', `"${user.address}"}`];
    expect(
      await send((chunk) => {
        chunk(begin);
        chunk(end);
        chunk('');
      }),
    ).toMatch(/^HTTP\/1.1 200 /);
    // Each in a packet of its own, the first long after the head.
    const parts = [begin, end, ''];
    expect(
      await send((chunk) => {
        const timer = setInterval(() => {
          chunk(parts.shift()!);
          if (parts.length === 0) clearInterval(timer);
        }, 30);
      }),
    ).toMatch(/^HTTP\/1.1 200 /);
    expect(await send((chunk) => [' ', ''].forEach(chunk))).toMatch(/^HTTP\/1.1 400 /);
  });

  it('and a client that leaves before the first byte is no fault', async () => {
    const socket = connect(app.port!, '127.0.0.1');
    socket.write('POST /pools HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await once(app.nest.getHttpServer(), 'request');
    socket.destroy();
    await once(socket, 'close');
    expect((await app.get('/health/live')).status).toBe(200);
  });
});
