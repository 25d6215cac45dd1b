import { type Reply, JsonRpcServer, answers, json, well } from '../../../test/support/chain/json-rpc-server';
import { type RpcEndpoint, rpcEndpoints } from '#ledger/chain/endpoints';
import { type Call, Rpc, RpcResting, isThrottled } from './rpc';

/** No answer is late on a slow machine. */
const TIMES = { answerMs: 30_000, patienceMs: 60_000, backoffMs: 1 };
const endpoint = (url: string): RpcEndpoint => rpcEndpoints(url)[0];

describe('of an endpoint with limits Rpc', () => {
  const server = new JsonRpcServer();
  let retries: string[];
  let rpc: Rpc;
  beforeAll(() => server.start());
  beforeEach(() => {
    [server.replies, server.requests, retries] = [[], [], []];
    rpc = new Rpc(endpoint(server.url), (kind) => retries.push(kind), TIMES);
  });
  afterAll(() => server.stop());

  const busy =
    (status: number, seconds: string): Reply =>
    (response) =>
      response.writeHead(status, { 'retry-after': seconds }).end('<html>');

  it.each([429, 503])('tries again after %d as soon as the endpoint said', async (status) => {
    server.replies = [busy(status, '0'), busy(status, '0.001')];
    expect(await rpc.call('a')).toBe('a');
    expect(server.requests).toHaveLength(3);
  });

  it('leaves an endpoint alone that wants to be for longer than anybody waits, whoever asks', async () => {
    server.replies = [busy(429, '61')];
    const asked = [rpc.call('a'), rpc.settled([['b', []]], 59_000, 'reading')];
    const ends = await Promise.allSettled(asked);
    expect(ends).toMatchObject([{ reason: expect.any(RpcResting) as unknown }, {}]);
    const sent = server.requests.length;
    const late = await rpc.settled([['c', []]], 59_000).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(RpcResting);
    // The longest that counts is a minute.
    expect((late as RpcResting).restMs).toBeLessThanOrEqual(60_000);
    expect((late as RpcResting).restMs).toBeGreaterThan(59_000);
    expect(server.requests).toHaveLength(sent);
  });

  it('asks for less at once of an endpoint that takes a batch for too many requests', async () => {
    const calls = Array.from({ length: 40 }, (_, i): Call => [`m${i}`, []]);
    server.replies = [busy(429, '60')];
    const hasty = new Rpc(endpoint(server.url), (kind) => retries.push(kind), { ...TIMES, patienceMs: 1000 });
    await expect(hasty.settled(calls)).rejects.toThrow(RpcResting);
    expect(hasty.fitsOneRequest(21)).toBe(false);
    expect(server.requests).toHaveLength(1);
  });

  it('sends no more in a request than the budget of a second', async () => {
    const frugal = new Rpc({ ...endpoint(server.url), perSecond: 100 }, undefined, TIMES);
    expect([100, 101].map((calls) => frugal.fitsOneRequest(calls))).toEqual([true, false]);
    const tight = new Rpc({ ...endpoint(server.url), perSecond: 3 }, undefined, TIMES);
    await tight.settled(Array.from({ length: 5 }, (_, i): Call => [`m${i}`, []]));
    expect(server.requests.map(({ length }) => length)).toEqual([3, 2]);
  });

  it.each([429, 503])(
    'tells after %d whether it was asked too often: then less at once is no help',
    async (status) => {
      const times = { ...TIMES, patienceMs: 0 };
      server.replies = Array<Reply>(9).fill((response) => response.writeHead(status).end('<html>'));
      const error: unknown = await new Rpc(endpoint(server.url), undefined, times)
        .call('a')
        .catch((thrown) => thrown);
      expect(isThrottled(error)).toBe(status === 429);
      expect(isThrottled(new RpcResting(1))).toBe(true);
    },
  );

  it('waits longer for an answer where the caller does', async () => {
    const hasty = new Rpc(endpoint(server.url), (kind) => retries.push(kind), { ...TIMES, answerMs: 100 });
    // Answered when the other one has been given up.
    const other = new Promise<() => void>((held) => {
      server.replies = [(response, sent) => held(() => well(response, sent)), () => undefined];
    });
    const history = hasty.settled([['history', []]], undefined, 'reading', 30_000);
    const answer = await other;
    expect(await hasty.call('a')).toBe('a');
    // A busy machine may give it up more than once.
    expect(new Set(retries)).toEqual(new Set(['network']));
    answer();
    expect(await history).toEqual(['history']);
    const [first, ...others] = server.requests.map(([{ method }]) => method);
    expect([first, new Set(others)]).toEqual(['history', new Set(['a'])]);
  });

  it('shares the budget among all who ask, the reader first', async () => {
    const shared = new Rpc({ ...endpoint(server.url), perSecond: 2 }, undefined, TIMES);
    const two = (method: string): Call[] => [[method, []], [method, []]]; // prettier-ignore
    await Promise.all([
      shared.settled(two('first')),
      shared.settled(two('verification')),
      shared.settled(two('reader'), undefined, 'reading'),
    ]);
    expect(server.requests.map(([{ method }]) => method)).toEqual(['first', 'reader', 'verification']);
  });

  it('sends single requests, a few at a time, where only one call of a batch is answered', async () => {
    const calls = Array.from({ length: 30 }, (_, i): Call => [`m${i}`, []]);
    let open = 0;
    let most = 0;
    const first: Reply = (response, sent) => {
      most = Math.max(most, (open += 1));
      setImmediate(() => {
        open -= 1;
        response.end(JSON.stringify(answers(sent)[0]));
      });
    };
    server.replies = Array<Reply>(200).fill(first);
    expect(await rpc.settled(calls)).toEqual(calls.map(([method]) => method));
    // One request was lost.
    expect(server.requests.map(({ length }) => length)).toEqual([30, ...Array<number>(30).fill(1)]);
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
    server.replies = Array<Reply>(50).fill(refuse);
    expect(await rpc.settled([['a', []], ['b', []], ['c', []]])).toEqual(['a', 'b', 'c']); // prettier-ignore
    expect(new Set(retries)).toEqual(new Set(['batch_size']));
  });
});
