import { once } from 'node:events';
import { type Server, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Dapp, serveDapp } from '#dev/dapp';

let page: Dapp;
let [api, stranger]: Server[] = [];
const asked: string[] = [];
const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function serve(name: string): Promise<Server> {
  const server = createServer(({ url }, response) => {
    asked.push(`${name} ${url}`);
    response.end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

beforeAll(async () => {
  [api, stranger] = [await serve('api'), await serve('stranger')];
  page = await serveDapp({ api: urlOf(api) });
});
afterAll(async () => {
  await page.stop();
  for (const server of [api, stranger]) server.close();
});
beforeEach(() => void asked.splice(0));

/** Asks as no browser would: with a path that is sent as it is. */
async function statusOf(path: string): Promise<number> {
  const sent = request(page.url, { path, agent: false }).end();
  const [answer] = await once(sent, 'response');
  answer.resume();
  return answer.statusCode;
}

it('has another port when its own is taken', async () => {
  const { port } = api.address() as AddressInfo;
  const other = await serveDapp({ api: urlOf(api), port });
  expect(other.url).not.toBe(`http://localhost:${port}`);
  expect((await fetch(other.url)).status).toBe(200);
  await other.stop();
});

it('is sent compressed to browsers, and as it is to others', async () => {
  const encodingOf = async (encodings: string) =>
    (await fetch(page.url, { headers: { 'accept-encoding': encodings } })).headers.get('content-encoding');
  expect(await encodingOf('gzip, deflate, br')).toBe('gzip');
  expect(await encodingOf('identity')).toBeNull();
});

it.each(['/api', '/api/pools?limit=1', '/api//pools', '/api/../x'])('passes %s on as it is', async (path) => {
  expect(await statusOf(path)).toBe(200);
  expect(asked).toEqual([`api ${path}`]);
});

it('passes nothing on to another host, and outlives what is no path', async () => {
  const host = urlOf(stranger).slice('http:'.length);
  const paths = [
    `${host}/api/main.js`,
    `http:${host}/api/x`,
    '//',
    '//api/x',
    '/apiary',
    '*',
    'http://',
    '/%',
  ];
  for (const path of paths) expect([path, await statusOf(path)]).toEqual([path, 404]);
  expect(asked).toEqual([]);
  expect(await statusOf('/?x=1')).toBe(200);
});
