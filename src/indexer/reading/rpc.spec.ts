import {
  JsonRpcServer,
  type Reply,
  answers,
  json,
  type Sent,
  well,
} from '../../../test/support/chain/json-rpc-server';
import { type RpcEndpoint, rpcEndpoints } from '#ledger/chain/endpoints';
import type { RetryKind } from '#indexer/requests/post';
import { Rpc, RpcError, RpcUnavailable } from './rpc';

/** No answer is late on a slow machine, but for the test of one that does not come. */
const TIMES = { answerMs: 30_000, patienceMs: 60_000, backoffMs: 1 };
const endpoint = (url: string): RpcEndpoint => rpcEndpoints(url)[0];

describe('Rpc', () => {
  const server = new JsonRpcServer();
  let url: string;
  let retries: string[];
  let rpc: Rpc;

  beforeAll(async () => {
    await server.start();
    ({ url } = server);
  });
  beforeEach(() => {
    [server.replies, server.requests, retries] = [[], [], []];
    rpc = new Rpc(endpoint(url), (kind) => retries.push(kind), TIMES);
  });
  afterAll(() => server.stop());

  it('sends one call as it is, several as a batch, and gives results in the order of the calls', async () => {
    expect(await rpc.call('a', 1, 'x')).toBe('a');
    expect(await rpc.batch([['b', []], ['c', []]])).toEqual(['b', 'c']); // prettier-ignore
    expect(server.requests.map((sent) => sent.map(({ method }) => method))).toEqual([['a'], ['b', 'c']]);
    expect(server.requests[0][0]).toMatchObject({ jsonrpc: '2.0', method: 'a', params: [1, 'x'] });
    expect(retries).toEqual([]);
  });

  const failures: [string, string, Reply][] = [
    ['429', 'rate_limit', (response) => response.writeHead(429).end('slow down')],
    ['429 with an answer', 'rate_limit', (response, sent) => well(response.writeHead(429), sent)],
    ['502', 'http', (response) => response.writeHead(502).end('<html>bad gateway</html>')],
    ['a dropped connection', 'network', (response) => response.socket!.destroy()],
    ['half an answer', 'http', (response) => response.end('{"jsonrpc":"2.0","id":')],
    ['nothing', 'http', (response) => response.end()],
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
    server.replies = [reply, reply];
    expect(await rpc.call('a')).toBe('a');
    expect(retries).toEqual([kind, kind]);
  });

  it('tries again after silence', async () => {
    const silent = new Promise((resolve) => (server.replies = [resolve]));
    const hasty = new Rpc(endpoint(url), (kind) => retries.push(kind), { ...TIMES, answerMs: 200 });
    const answer = hasty.call('a');
    await silent;
    expect(await answer).toBe('a');
    expect(new Set(retries)).toEqual(new Set(['network']));
  });

  it('puts answers of a batch in order, and asks for all again when one is missing', async () => {
    server.replies = [json((sent) => answers(sent).slice(1)), json((sent) => answers(sent).reverse())];
    const calls = ['a', 'b', 'c'].map((method): [string, unknown[]] => [method, []]);
    expect(await rpc.batch(calls)).toEqual(['a', 'b', 'c']);
    expect(retries).toEqual(['incomplete']);
    expect(server.requests).toHaveLength(2);
  });

  const refuse = ([{ id }]: Sent[]): object => ({ id, error: { code: -32602, message: 'range too large' } });

  it('does not try again what the node refuses', async () => {
    server.replies = [json(refuse)];
    const error: unknown = await rpc.call('a').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: -32602, message: 'a: range too large' });
    expect(server.requests).toHaveLength(1);
    expect(retries).toEqual([]);
  });

  it('gives the refusal of one call beside the results of others', async () => {
    const mixed = json((sent) => [refuse(sent), ...answers(sent).slice(1)]);
    server.replies = [mixed, mixed];
    const calls = ['a', 'b'].map((method): [string, unknown[]] => [method, []]);
    expect(await rpc.settled(calls)).toEqual([expect.any(RpcError), 'b']);
    await expect(rpc.batch(calls)).rejects.toThrow('a: range too large');
  });

  /** Refuses every batch of more calls than `cap`, in one of the ways in which providers do. */
  const capped: [string, (cap: number) => Reply][] = [
    [
      'with one error without id',
      (cap) => (response, sent) =>
        sent.length > cap
          ? json(() => ({ error: { code: -32600, message: 'too many' } }))(response, sent)
          : well(response, sent),
    ],
    [
      'with an error for each call',
      (cap) => (response, sent) =>
        sent.length > cap
          ? json(() => sent.map(({ id }) => ({ id, error: { code: -32000, message: 'batch too large' } })))(
              response,
              sent,
            )
          : well(response, sent),
    ],
    [
      'with 413',
      (cap) => (response, sent) =>
        sent.length > cap ? response.writeHead(413).end('large') : well(response, sent),
    ],
    [
      'with a page of HTML',
      (cap) => (response, sent) =>
        sent.length > cap ? response.writeHead(400).end('<html>') : well(response, sent),
    ],
    [
      'by cutting the answer short',
      (cap) => (response, sent) =>
        sent.length === 1 ? well(response, sent) : response.end(JSON.stringify(answers(sent.slice(0, cap)))),
    ],
  ];
  describe.each(capped)('of an endpoint that caps batches %s', (_, reply) => {
    it.each([50, 10, 1])('of %d calls gets all answers, and remembers the cap', async (cap) => {
      server.replies = Array<Reply>(300).fill(reply(cap));
      // So few that no larger batch is tried meanwhile.
      const calls = Array.from({ length: cap + 19 }, (_, i): [string, unknown[]] => [`m${i}`, []]);
      const wanted = calls.map(([method]) => method);
      expect(await rpc.settled(calls)).toEqual(wanted);
      expect(rpc.fitsOneRequest(calls.length)).toBe(false);
      const before = server.requests.length;
      expect(await rpc.settled(calls)).toEqual(wanted);
      expect(server.requests.slice(before).every(({ length }) => length <= cap)).toBe(true);
    });
  });

  it('cuts off an answer that is too large, and takes it for a refusal', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    server.replies = [
      (response) => {
        const more = (): void => {
          while (!response.destroyed && sent < 900) {
            sent += 1;
            if (!response.write(chunk)) return void response.once('drain', more);
          }
          response.end();
        };
        more();
      },
    ];
    expect(await rpc.settled([['a', []]])).toEqual([expect.any(RpcError)]);
    expect(sent).toBeLessThan(100);
  });

  it('sends user and password, and repeats no key of the address', async () => {
    const secret = 'key0123456789';
    const basic = Buffer.from('me:pass').toString('base64');
    const message = `no such key ${secret} of me:pass ${basic} ${'.'.repeat(140)}${secret}`;
    server.replies = [
      (response, sent) => {
        expect(response.req.headers.authorization).toBe(`Basic ${basic}`);
        json(() => ({ id: sent[0].id, error: { code: 1, message } }))(response, sent);
      },
    ];
    const address = url.replace('http://', 'http://me:pass@');
    const error = (await new Rpc(endpoint(`${address}/v2/${secret}`)).call('a').catch(String)) as string;
    expect(error).toContain('no such key');
    expect(error.length).toBeLessThan(250);
    // Nor a part of it, where the text is cut.
    expect(error).not.toMatch(/key0|pass|bWU6/);
  });

  it('gives up when its patience ends', async () => {
    // By a clock that goes only while it waits, so that a slow machine changes nothing.
    const realNow = Date.now;
    let now = realNow();
    Date.now = () => now;
    try {
      const failed = (kind: RetryKind): void => {
        retries.push(kind);
        now += 10;
      };
      const impatient = new Rpc(endpoint(url), failed, { ...TIMES, patienceMs: 45 });
      server.replies = Array<Reply>(100).fill((response) => response.writeHead(503).end());
      await expect(impatient.call('a')).rejects.toThrow(RpcUnavailable);
    } finally {
      Date.now = realNow;
    }
    // The fifth failure is past the patience; after the fourth it depends on the wait, which is drawn by lot.
    expect([4, 5]).toContain(retries.length);
  });
});
