import { once } from 'node:events';
import { type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type RpcEndpoint, rpcEndpoints } from '../chain/endpoints';
import { Rpc, RpcError, RpcUnavailable } from './rpc';

interface Sent {
  id: number;
  method: string;
}
type Reply = (response: ServerResponse, sent: Sent[]) => unknown;

const TIMES = { answerMs: 200, patienceMs: 60_000, backoffMs: 1 };
const endpoint = (url: string): RpcEndpoint => rpcEndpoints(url)[0];

/** Every call is answered with the name of its method. */
const answers = (sent: Sent[]): object[] =>
  sent.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: method }));
const well: Reply = (response, sent) =>
  response.end(JSON.stringify(sent.length > 1 ? answers(sent) : answers(sent)[0]));
const json =
  (make: (sent: Sent[]) => unknown): Reply =>
  (response, sent) =>
    response.end(JSON.stringify(make(sent)));

describe('Rpc', () => {
  let server: Server;
  let url: string;
  /** How the next requests are answered; all further ones go well. */
  let replies: Reply[];
  let requests: Sent[][];
  let retries: string[];
  let rpc: Rpc;

  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        const sent = [JSON.parse(text) as Sent | Sent[]].flat();
        requests.push(sent);
        (replies.shift() ?? well)(response, sent);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    [replies, requests, retries] = [[], [], []];
    rpc = new Rpc(endpoint(url), (kind) => retries.push(kind), TIMES);
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('sends one call as it is, several as a batch, and gives results in the order of the calls', async () => {
    expect(await rpc.call('a', 1, 'x')).toBe('a');
    expect(await rpc.batch([['b', []], ['c', []]])).toEqual(['b', 'c']); // prettier-ignore
    expect(requests.map((sent) => sent.map(({ method }) => method))).toEqual([['a'], ['b', 'c']]);
    expect(requests[0][0]).toMatchObject({ jsonrpc: '2.0', method: 'a', params: [1, 'x'] });
    expect(retries).toEqual([]);
  });

  const failures: [string, string, Reply][] = [
    ['429', 'rate_limit', (response) => response.writeHead(429).end('slow down')],
    ['429 with an answer', 'rate_limit', (response, sent) => well(response.writeHead(429), sent)],
    ['502', 'http', (response) => response.writeHead(502).end('<html>bad gateway</html>')],
    ['a dropped connection', 'network', (response) => response.socket!.destroy()],
    ['half an answer', 'http', (response) => response.end('{"jsonrpc":"2.0","id":')],
    ['nothing', 'http', (response) => response.end()],
    ['silence', 'network', () => undefined],
    ['null', 'incomplete', json(() => null)],
    ['another id', 'incomplete', json(() => ({ jsonrpc: '2.0', id: 0, result: 'other' }))],
    ['neither result nor error', 'incomplete', json(([{ id }]) => ({ jsonrpc: '2.0', id }))],
    [
      'code 429',
      'rate_limit',
      json(([{ id }]) => ({ jsonrpc: '2.0', id, error: { code: 429, message: '' } })),
    ],
    [
      'words for 429',
      'rate_limit',
      json(([{ id }]) => ({ id, error: { code: -32005, message: 'daily request count exceeded' } })),
    ],
  ];
  it.each(failures)('tries again after %s', async (_, kind, reply) => {
    replies = [reply, reply];
    expect(await rpc.call('a')).toBe('a');
    expect(retries).toEqual([kind, kind]);
  });

  it('puts answers of a batch in order, and asks for all again when one is missing', async () => {
    replies = [json((sent) => answers(sent).slice(1)), json((sent) => answers(sent).reverse())];
    const calls = ['a', 'b', 'c'].map((method): [string, unknown[]] => [method, []]);
    expect(await rpc.batch(calls)).toEqual(['a', 'b', 'c']);
    expect(retries).toEqual(['incomplete']);
    expect(requests).toHaveLength(2);
  });

  const refuse = ([{ id }]: Sent[]): object => ({ id, error: { code: -32602, message: 'range too large' } });

  it('does not try again what the node refuses', async () => {
    replies = [json(refuse)];
    const error: unknown = await rpc.call('a').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: -32602, message: 'a: range too large' });
    expect(requests).toHaveLength(1);
    expect(retries).toEqual([]);
  });

  it('gives the refusal of one call beside the results of others', async () => {
    const mixed = json((sent) => [refuse(sent), ...answers(sent).slice(1)]);
    replies = [mixed, mixed];
    const calls = ['a', 'b'].map((method): [string, unknown[]] => [method, []]);
    expect(await rpc.settled(calls)).toEqual([expect.any(RpcError), 'b']);
    await expect(rpc.batch(calls)).rejects.toThrow('a: range too large');
  });

  it('takes one error without id for the refusal of the whole batch', async () => {
    replies = [json(() => ({ error: { code: -32600, message: 'batch too large' } }))];
    const calls = ['a', 'b'].map((method): [string, unknown[]] => [method, []]);
    expect(await rpc.settled(calls)).toEqual([expect.any(RpcError), expect.any(RpcError)]);
  });

  it('gives up when its patience ends', async () => {
    const impatient = new Rpc(endpoint(url), (kind) => retries.push(kind), { ...TIMES, patienceMs: 20 });
    replies = Array<Reply>(100).fill((response) => response.writeHead(503).end());
    await expect(impatient.call('a')).rejects.toThrow(RpcUnavailable);
    expect(retries.length).toBeGreaterThan(1);
    expect(retries.length).toBeLessThan(10);
  });
});
