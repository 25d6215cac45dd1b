import { type Call, type Reply, RpcNode } from '../../../test/support/chain/rpc-node';
import { ChainRpc } from '#ledger/chain/chain-rpc';
import { type RpcEndpoint, rpcEndpoints } from '#ledger/chain/endpoints';
import type { RetryKind } from '#ledger/chain/json-rpc';
import { Rpc, RpcError, RpcResting, RpcUnavailable, isThrottled } from './rpc';

/** No answer is late on a slow machine, but for the test of one that does not come. */
const TIMES = { answerMs: 30_000, patienceMs: 60_000, backoffMs: 1 };
const endpoint = (url: string): RpcEndpoint => rpcEndpoints(url)[0];

/** Every call is answered with the name of its method. */
const answers = (sent: Call[]): object[] =>
  sent.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: method }));
const json =
  (make: (sent: Call[]) => unknown): Reply =>
  (response, sent) =>
    response.end(JSON.stringify(make(sent)));
const well = json((sent) => (sent.length > 1 ? answers(sent) : answers(sent)[0]));
/** Each call is answered with this error. */
const failing = (code: number, message: string): Reply =>
  json((sent) => {
    const errors = sent.map(({ id }) => ({ id, error: { code, message } }));
    return errors.length > 1 ? errors : errors[0];
  });
const call = async (rpc: Rpc, method: string, ...params: unknown[]): Promise<unknown> =>
  (await rpc.batch([[method, params]]))[0];
/** So many calls of different methods. */
const callsOf = (count: number): [string, unknown[]][] =>
  Array.from({ length: count }, (_, i) => [`m${i}`, []]);

describe('Rpc', () => {
  const server = new RpcNode(() => undefined);
  /** How the next requests are answered; all further ones go well. */
  let replies: Reply[];
  let url: string;
  let retries: string[];
  let rpc: Rpc;

  beforeAll(async () => {
    await server.start();
    ({ url } = server);
    server.faults.http = () => replies.shift() ?? well;
  });
  beforeEach(() => {
    [replies, server.requests, retries] = [[], [], []];
    rpc = new Rpc(endpoint(url), (kind) => retries.push(kind), TIMES);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => server.stop());

  it('sends one call as it is, several as a batch, and gives results in the order of the calls', async () => {
    expect(await call(rpc, 'a', 1, 'x')).toBe('a');
    expect(await rpc.batch([['b', []], ['c', []]])).toEqual(['b', 'c']); // prettier-ignore
    expect(server.requests.map((sent) => sent.map(({ method }) => method))).toEqual([['a'], ['b', 'c']]);
    expect(server.requests[0][0]).toMatchObject({ jsonrpc: '2.0', method: 'a', params: [1, 'x'] });
    expect(retries).toEqual([]);
  });

  it('tries again without a usable answer, and after a rate limit', async () => {
    replies = [
      json(() => null),
      failing(429, ''),
      (response) => response.socket!.destroy(),
      json(() => ({ jsonrpc: '2.0' })),
    ];
    expect(await call(rpc, 'a')).toBe('a');
    expect(retries).toEqual(['http', 'rate_limit', 'network', 'incomplete']);
  });

  it('tries again after silence', async () => {
    const silent = new Promise((resolve) => (replies = [resolve]));
    const hasty = new Rpc(endpoint(url), (kind) => retries.push(kind), { ...TIMES, answerMs: 200 });
    const answer = call(hasty, 'a');
    await silent;
    expect(await answer).toBe('a');
    expect(new Set(retries)).toEqual(new Set(['timeout']));
  });

  it('puts answers of a batch in order, and asks for all again when one is missing', async () => {
    replies = [json((sent) => answers(sent).slice(1)), json((sent) => answers(sent).reverse())];
    const calls = ['a', 'b', 'c'].map((method): [string, unknown[]] => [method, []]);
    expect(await rpc.batch(calls)).toEqual(['a', 'b', 'c']);
    expect(retries).toEqual(['incomplete']);
    expect(server.requests).toHaveLength(2);
  });

  const refuse = ([{ id }]: Call[]): object => ({ id, error: { code: -32602, message: 'range too large' } });

  it('divides what takes a node too long, or is too large for its limit of a whole answer', async () => {
    const mayTake =
      (most: number, beyond: Reply): Reply =>
      (response, sent) =>
        (sent.length <= most ? well : beyond)(response, sent);
    const silent: Reply = () => undefined;
    const tooLarge = json((sent) => [
      ...answers(sent.slice(0, 9)),
      ...sent.slice(9).map(({ id }) => ({ id, error: { code: -32003, message: 'response too large' } })),
    ]);
    const hasty = new Rpc(endpoint(url), (kind) => retries.push(kind), { ...TIMES, answerMs: 500 });
    for (const [rpc, beyond] of [
      [hasty, silent],
      [new Rpc(endpoint(url), undefined, TIMES), tooLarge],
    ] as const) {
      replies = Array.from({ length: 50 }, () => mayTake(9, beyond));
      expect(await rpc.settled(callsOf(66))).toEqual(callsOf(66).map(([method]) => method));
      expect(rpc.mostCalls).toBeLessThan(10);
    }
    expect(retries).toContain('timeout');
  });

  it('does not try again what the node refuses', async () => {
    replies = [json(refuse)];
    const error: unknown = await call(rpc, 'a').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: -32602, message: 'a: range too large' });
    expect(server.requests).toHaveLength(1);
    expect(retries).toEqual([]);
  });

  it('takes no revert for the refusal of a batch, whatever its words', async () => {
    replies = [failing(3, 'execution reverted: no batch today')];
    expect(await rpc.settled(callsOf(2))).toEqual([expect.any(RpcError), expect.any(RpcError)]);
    expect(server.requests).toHaveLength(1);
    expect(retries).toEqual([]);
  });

  it('gives the refusal of one call beside the results of others', async () => {
    const mixed = json((sent) => [refuse(sent), ...answers(sent).slice(1)]);
    replies = [mixed, mixed];
    const calls = ['a', 'b'].map((method): [string, unknown[]] => [method, []]);
    expect(await rpc.settled(calls)).toEqual([expect.any(RpcError), 'b']);
    await expect(rpc.batch(calls)).rejects.toThrow('a: range too large');
  });

  /** How providers refuse a batch of more calls than their cap. */
  const capped: [string, (response: Parameters<Reply>[0], sent: Call[], cap: number) => unknown][] = [
    ['with one error without id', json(() => ({ error: { code: -32600, message: 'too many' } }))],
    ['with an error for each call', failing(-32000, 'batch too large')],
    ['with 413', (response) => response.writeHead(413).end('large')],
    ['with a page of HTML', (response) => response.writeHead(400).end('<html>')],
    [
      'by cutting the answer short',
      (response, sent, cap) => response.end(JSON.stringify(answers(sent.slice(0, cap)))),
    ],
  ];
  describe.each(capped)('of an endpoint that caps batches %s', (_, refused) => {
    it.each([50, 10, 1])('of %d calls gets all answers, and remembers the cap', async (cap) => {
      replies = Array<Reply>(300).fill((response, sent) =>
        sent.length > cap ? refused(response, sent, cap) : well(response, sent),
      );
      // So few that no larger batch is tried meanwhile.
      const calls = callsOf(cap + 19);
      const wanted = calls.map(([method]) => method);
      expect(await rpc.settled(calls)).toEqual(wanted);
      expect(rpc.mostCalls).toBeLessThan(calls.length);
      const before = server.requests.length;
      expect(await rpc.settled(calls)).toEqual(wanted);
      expect(server.requests.slice(before).every(({ length }) => length <= cap)).toBe(true);
    });
  });

  it('cuts off an answer that is too large, and takes it for a refusal', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    replies = [
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
    const user = `${secret}-project`;
    const basic = Buffer.from(`${user}:pass`).toString('base64');
    const message = `no such key ${secret} of ${user}:pass ${basic} ${'.'.repeat(140)}${secret}`;
    const refusing: Reply = (response, sent) => {
      expect(response.req.headers.authorization).toBe(`Basic ${basic}`);
      failing(1, message)(response, sent);
    };
    replies = [refusing, refusing];
    const known = endpoint(`${url.replace('http://', `http://${user}:pass@`)}/v2/${secret}`);
    const asked = [call(new Rpc(known), 'a'), new ChainRpc([known]).request('a', [])];
    for (const error of await Promise.all(asked.map((each) => each.catch(String) as Promise<string>))) {
      expect(error).toContain('no such key');
      expect(error.length).toBeLessThan(300);
      // Nor a part of it, where the text is cut.
      expect(error).not.toMatch(/key0|project|pass|a2V5/);
    }
  });

  it('gives up when its patience ends', async () => {
    // By a clock that goes only with the failures, and without jitter.
    let now = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => now);
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const failed = (kind: RetryKind): void => {
      retries.push(kind);
      now += 10;
    };
    const impatient = new Rpc(endpoint(url), failed, { ...TIMES, patienceMs: 45 });
    replies = Array<Reply>(100).fill((response) => response.writeHead(503).end());
    await expect(call(impatient, 'a')).rejects.toThrow(RpcUnavailable);
    // After 40 ms, the next try would come 8 ms later.
    expect(retries).toHaveLength(4);
  });

  it('says which endpoint does not answer, and why, but not its key', async () => {
    const gone = await new RpcNode(() => undefined).start();
    const unknown = { ...endpoint(`${gone.url}/v2/a-key-of-a-provider`), name: 'a node' };
    await gone.stop();
    const impatient = new Rpc(unknown, undefined, { ...TIMES, patienceMs: 0 });
    const error: unknown = await call(impatient, 'eth_chainId').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RpcUnavailable);
    expect((error as Error).message).toBe('a node: fetch failed: ECONNREFUSED');
  });

  const busy =
    (status: number, seconds: string): Reply =>
    (response) =>
      response.writeHead(status, { 'retry-after': seconds }).end('<html>');

  it.each([429, 503])('tries again after %d as soon as the endpoint said', async (status) => {
    replies = [busy(status, '0'), busy(status, '0.001')];
    expect(await call(rpc, 'a')).toBe('a');
    expect(server.requests).toHaveLength(3);
  });

  it('leaves an endpoint alone that wants to be for longer than anybody waits', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(1e9);
    replies = [busy(429, '61')];
    const asked = [call(rpc, 'a'), rpc.settled([['b', []]], 59_000, 'reading')];
    const ends = await Promise.allSettled(asked);
    // Either request may be the first to reach the server.
    expect(ends).toContainEqual({ status: 'rejected', reason: expect.any(RpcResting) as unknown });
    const sent = server.requests.length;
    const late = await rpc.settled([['c', []]], 59_000).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(RpcResting);
    // The longest that counts is a minute.
    expect((late as RpcResting).restMs).toBe(60_000);
    expect(server.requests).toHaveLength(sent);
  });

  it('asks for less at once of an endpoint that takes a batch for too many requests', async () => {
    const calls = callsOf(40);
    replies = [busy(429, '60')];
    const hasty = new Rpc(endpoint(url), (kind) => retries.push(kind), { ...TIMES, patienceMs: 1000 });
    await expect(hasty.settled(calls)).rejects.toThrow(RpcResting);
    expect(hasty.mostCalls).toBeLessThan(21);
    expect(server.requests).toHaveLength(1);
  });

  it('sends no more in a request than the budget of a second', async () => {
    const frugal = new Rpc({ ...endpoint(url), perSecond: 100 }, undefined, TIMES);
    expect(frugal.mostCalls).toBe(100);
    const tight = new Rpc({ ...endpoint(url), perSecond: 3 }, undefined, TIMES);
    await tight.settled(callsOf(5));
    expect(server.sizes).toEqual([3, 2]);
  });

  it.each([429, 503])(
    'tells after %d whether it was asked too often: then less at once is no help',
    async (status) => {
      const times = { ...TIMES, patienceMs: 0 };
      replies = Array<Reply>(9).fill((response) => response.writeHead(status).end('<html>'));
      const error: unknown = await call(new Rpc(endpoint(url), undefined, times), 'a').catch(
        (thrown: unknown) => thrown,
      );
      expect(isThrottled(error)).toBe(status === 429);
      expect(isThrottled(new RpcResting(1))).toBe(true);
    },
  );

  it('waits longer for an answer where the caller does', async () => {
    const hasty = new Rpc(endpoint(url), (kind) => retries.push(kind), { ...TIMES, answerMs: 100 });
    // Answered when the other one has been given up.
    const other = new Promise<() => void>((held) => {
      replies = [(response, sent) => held(() => well(response, sent)), () => undefined];
    });
    const history = hasty.settled([['history', []]], undefined, 'reading', 30_000);
    const answer = await other;
    expect(await call(hasty, 'a')).toBe('a');
    // A busy machine may give it up more than once.
    expect(new Set(retries)).toEqual(new Set(['timeout']));
    answer();
    expect(await history).toEqual(['history']);
    const [first, ...others] = server.requests.map(([{ method }]) => method);
    expect([first, new Set(others)]).toEqual(['history', new Set(['a'])]);
  });

  it('shares the budget among all who ask, the reader first', async () => {
    const shared = new Rpc({ ...endpoint(url), perSecond: 2 }, undefined, TIMES);
    const two = (method: string): [string, unknown[]][] => [[method, []], [method, []]]; // prettier-ignore
    await Promise.all([
      shared.settled(two('first')),
      shared.settled(two('verification')),
      shared.settled(two('reader'), undefined, 'reading'),
    ]);
    expect(server.requests.map(([{ method }]) => method)).toEqual(['first', 'reader', 'verification']);
  });

  it('sends single requests, a few at a time, where only one call of a batch is answered', async () => {
    const calls = callsOf(30);
    let open = 0;
    let most = 0;
    const first: Reply = (response, sent) => {
      most = Math.max(most, (open += 1));
      setImmediate(() => {
        open -= 1;
        response.end(JSON.stringify(answers(sent)[0]));
      });
    };
    replies = Array<Reply>(200).fill(first);
    expect(await rpc.settled(calls)).toEqual(calls.map(([method]) => method));
    // One request was lost.
    expect(server.sizes).toEqual([30, ...Array<number>(30).fill(1)]);
    expect(most).toBeLessThanOrEqual(4);
    expect(retries).toEqual(['batch_size']);
    // After a while batches are tried again, once.
    await rpc.settled(calls);
    await rpc.settled(calls);
    expect(server.requests.filter(({ length }) => length > 1).map(({ length }) => length)).toEqual([
      30, 2, 2, 2, 2,
    ]);
  });

  it('goes back to smaller batches where a batch is refused by the error of one call', async () => {
    const refuse: Reply = (response, sent) =>
      sent.length === 1
        ? well(response, sent)
        : json(([{ id }]) => ({ id, error: { code: -32600, message: 'invalid request' } }))(response, sent);
    replies = Array<Reply>(50).fill(refuse);
    expect(await rpc.settled([['a', []], ['b', []], ['c', []]])).toEqual(['a', 'b', 'c']); // prettier-ignore
    expect(new Set(retries)).toEqual(new Set(['batch_size']));
  });
});
