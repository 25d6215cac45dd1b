import { SavingsClient, type SavingsEvent } from '@pooled-savings/client';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type StreamSigns, parseEvents } from '../../client/src/events';
import { FakeNode } from '../support/network/fake-node';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A server that gives each request the next answer, and the last one to all that follow. */
async function serve(...answers: Answer[]) {
  const times: number[] = [];
  const server = await FakeNode.start((request, response) => {
    times.push(performance.now());
    answers[Math.min(times.length, answers.length) - 1](response, request);
  });
  servers.push(server);
  const client = (options = {}): SavingsClient => new SavingsClient({ baseUrl: server.url, ...options });
  const lastIds = (): unknown[] => server.requests.map(({ headers }) => headers['last-event-id']);
  return { client, times, lastIds };
}
const servers: FakeNode[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

const stream =
  (text: string): Answer =>
  (response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
const refusal =
  (status: number, code: string, headers = {}): Answer =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify({ success: false, error: 'no', code }));
const event = (id: number): string => `id: ${id}\nevent: draw.opened\ndata: {"id":"${id}"}\n\n`;

async function take(client: SavingsClient, count: number): Promise<SavingsEvent[]> {
  const taken: SavingsEvent[] = [];
  for await (const each of client.events()) if (taken.push(each) === count) break;
  return taken;
}

describe('parsing', () => {
  async function parse(bytes: Uint8Array[]) {
    const seen: unknown[] = [];
    const signs: StreamSigns = { onId: (id) => seen.push({ id }), onRetry: (retry) => seen.push({ retry }) };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const each of bytes) controller.enqueue(each);
        controller.close();
      },
    });
    for await (const each of parseEvents(body, signs)) seen.push(each);
    return seen;
  }
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  it.each([
    ['one event', 'id: 1\nevent: a\ndata: x\n\n', [{ id: '1' }, { event: 'a', data: 'x' }]],
    ['lines of data', 'data: x\ndata:y\ndata\ndata:  z\n\n', [{ event: 'message', data: 'x\ny\n\n z' }]],
    ['an id alone', ': ping\nid: 7\n\n', [{ id: '7' }]],
    ['an empty id', 'id\n\n', [{ id: '' }]],
    ['an id with a null', 'id: a\0b\n\n', []],
    ['a retry', 'retry: 1500\nretry: x\nretry: -1\n\n', [{ retry: 1500 }]],
    ['an event without data', 'event: a\n\ndata: x\n\n', [{ event: 'message', data: 'x' }]],
    ['an event that is cut', 'data: x\n\nid: 2\ndata: y\n', [{ event: 'message', data: 'x' }]],
    [
      'unknown fields and comments',
      'x: y\n:\n: data: z\ndata: ä€😀\n\n',
      [{ event: 'message', data: 'ä€😀' }],
    ],
    ['a byte order mark', '\ufeffdata: x\n\n', [{ event: 'message', data: 'x' }]],
  ])('%s, whatever ends its lines and however it is cut', async (_what, text, wanted) => {
    for (const end of ['\n', '\r\n', '\r']) {
      // A lone carriage return at the very end might be half of a line's end: something follows it.
      const whole = bytes(text.replaceAll('\n', end) + (end === '\r' ? ':' : ''));
      expect(await parse([whole])).toEqual(wanted);
      expect(await parse(Array.from(whole, (byte) => new Uint8Array([byte])))).toEqual(wanted);
      for (let at = 1; at < whole.length; at++)
        expect(await parse([whole.subarray(0, at), whole.subarray(at)])).toEqual(wanted);
    }
  });
});

describe('connecting again', () => {
  it('goes on after the last event, or the last place that the stream named', async () => {
    const { client, lastIds } = await serve(
      stream(`id: 3\n\n`),
      stream(event(4)),
      stream(`: ping\nid: 6\n\n`),
      stream(`id: 7\nevent: draw.opened\ndata: cut`),
      stream(event(8)),
    );
    expect(await take(client(), 2)).toEqual([{ id: '4' }, { id: '8' }]);
    expect(lastIds()).toEqual([undefined, '3', '4', '6', '6']);
  });

  it('forgets a place that leads nowhere', async () => {
    const { client, lastIds } = await serve(
      stream(event(4)),
      stream('event: reload\ndata: {}\n\n'),
      stream('id: 9\n\nevent: reload\ndata: {}\n\n'),
      stream(event(10)),
    );
    const taken = await take(client(), 4);
    expect(taken).toEqual([
      { id: '4' },
      { topic: 'reload', id: null },
      { topic: 'reload', id: '9' },
      { id: '10' },
    ]);
    expect(lastIds()).toEqual([undefined, '4', undefined, '9']);
  });

  it('waits as long as the stream says', async () => {
    const { client, times } = await serve(stream(`retry: 1200\n\n${event(1)}`), stream(event(2)));
    await take(client(), 2);
    expect(times[1] - times[0]).toBeGreaterThanOrEqual(1190);
  });

  it.each([
    [429, 'too_many_connections'],
    [503, 'unavailable'],
  ])('waits as long as Retry-After says, with %d', async (status, code) => {
    const { client, times } = await serve(refusal(status, code, { 'retry-after': '1' }), stream(event(1)));
    await take(client(), 1);
    expect(times[1] - times[0]).toBeGreaterThanOrEqual(990);
  });

  it('waits longer from attempt to attempt', async () => {
    const { client, times } = await serve(
      refusal(503, 'unavailable'),
      (response) => response.destroy(),
      (response) => response.writeHead(502).end('a proxy'),
      stream(event(1)),
    );
    await take(client(), 1);
    // Half of 500, 1000 and 2000 ms at least.
    const pauses = times.slice(1).map((time, n) => time - times[n]);
    for (const [n, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(250 * 2 ** n - 10);
  });

  it('gives up for what does not pass', async () => {
    const { client, times } = await serve(refusal(401, 'token_revoked'));
    await expect(take(client(), 1)).rejects.toMatchObject({ code: 'token_revoked' });
    expect(times).toHaveLength(1);
  });

  it('ends while it waits, by the signal', async () => {
    const { client } = await serve(refusal(503, 'unavailable', { 'retry-after': '200' }));
    const end = new AbortController();
    const events = client().events({
      signal: end.signal,
      onDisconnected: () => setImmediate(() => end.abort(new Error('enough'))),
    });
    await expect(events.next()).rejects.toThrow('enough');
  });
});

const page: Answer = (response) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true,"data":[]}');

describe('Retry-After', () => {
  const date = (): string => new Date(Date.now() + 2000).toUTCString();

  it.each<[string, Answer]>([
    ['429', refusal(429, 'rate_limited_general', { 'retry-after': '1' })],
    ['503', refusal(503, 'busy', { 'retry-after': '1' })],
    ['a date', (...args) => refusal(503, 'busy', { 'retry-after': date() })(...args)],
  ])('is kept to, with %s', async (_what, refuse) => {
    const { client, times } = await serve(refuse, page);
    expect((await client().pools.list()).data).toEqual([]);
    expect(times[1] - times[0]).toBeGreaterThanOrEqual(900);
  });

  it.each([
    ['the cap', 429, 31, {}],
    ['the cap', 503, 31, {}],
    ['the time for all attempts', 503, 20, { retry: { maxTotalMs: 10_000 } }],
  ])('beyond %s throws at once, with %d', async (_what, status, retryAfterSeconds, options) => {
    const code = status === 429 ? 'rate_limited' : 'unavailable';
    const { client, times } = await serve(refusal(status, code, { 'retry-after': retryAfterSeconds }), page);
    const error = { code, status, retryAfterSeconds };
    await expect(client(options).pools.list()).rejects.toMatchObject(error);
    expect(times).toHaveLength(1);
  });

  it('ends by the signal while it is waited for', async () => {
    const end = new AbortController();
    const { client, times } = await serve((...args) => {
      refusal(429, 'rate_limited', { 'retry-after': '20' })(...args);
      args[0].on('close', () => setImmediate(() => end.abort(new Error('enough'))));
    });
    await expect(client().pools.list({}, { signal: end.signal })).rejects.toThrow('enough');
    expect(times).toHaveLength(1);
  });

  it.each([400, 403, 409, 422, 429])(
    'is needed for a request with a key to be sent again, after %d',
    async (status) => {
      const pool = { type: 'individual', initialDeposit: '1' } as const;
      const final = await serve(refusal(status, 'pool_exists'), page);
      await expect(final.client().pools.create(pool)).rejects.toMatchObject({ code: 'pool_exists' });
      expect(final.times).toHaveLength(1);
    },
  );

  it('sends a request with a key again while its first attempt is carried out', async () => {
    const running = await serve(refusal(409, 'idempotency_in_progress', { 'retry-after': '0' }), page);
    await running.client().pools.create({ type: 'individual', initialDeposit: '1' });
    expect(running.times).toHaveLength(2);
  });

  it('repeats no writing without a key after 503, but after 429', async () => {
    const busy = await serve(refusal(503, 'busy', { 'retry-after': '0' }), page);
    await expect(busy.client().api.POST('/auth/logout')).rejects.toMatchObject({ code: 'busy' });
    expect(busy.times).toHaveLength(1);
    const limited = await serve(refusal(429, 'rate_limited', { 'retry-after': '0' }), page);
    await limited.client().api.POST('/auth/logout');
    expect(limited.times).toHaveLength(2);
  });
});

describe('an answer that stalls after its headers', () => {
  const half: Answer = (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"success":true,');
  const retry = { maxTotalMs: 300 };

  it.each<[string, (client: SavingsClient) => Promise<unknown>]>([
    ['a read', (client) => client.pools.list()],
    ['a request with a key', (client) => client.pools.create({ type: 'individual', initialDeposit: '1' })],
    ['any other', (client) => client.api.POST('/auth/logout')],
  ])('is given up in the time for all attempts: %s', async (_what, ask) => {
    const { client } = await serve(half);
    await expect(ask(client({ retry }))).rejects.toMatchObject({ code: 'no_answer' });
  });

  describe('and the clock', () => {
    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
    });
    afterEach(() => jest.useRealTimers());

    async function pass(isOver: () => boolean): Promise<void> {
      for (let second = 0; !isOver() && second < 100; second++) {
        for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
        jest.advanceTimersByTime(1_000);
      }
    }

    it('makes a read be sent again', async () => {
      const { client, times } = await serve(half, page);
      const list = client().pools.list();
      await pass(() => times.length === 2);
      expect(await list).toEqual({ success: true, data: [] });
    });

    it('makes a stream that was refused connect again', async () => {
      const { client } = await serve((response) =>
        response.writeHead(403, { 'content-type': 'application/json' }).write('{'),
      );
      const end = new AbortController();
      const lost: unknown[] = [];
      const onDisconnected = (error: unknown): void => {
        lost.push(error);
        end.abort(new Error('enough'));
      };
      const next = expect(client().events({ signal: end.signal, onDisconnected }).next()).rejects.toThrow(
        'enough',
      );
      await pass(() => lost.length > 0);
      expect(lost).toMatchObject([{ code: 'no_answer' }]);
      await next;
    });
  });
});

describe('an error of a newer service', () => {
  it.each([403, 409, 410, 500])('keeps its code, its status and its text, with %d', async (status) => {
    const { client, times } = await serve(refusal(status, 'of_next_year', { 'x-request-id': 'r1' }));
    const error = { name: 'ApiError', code: 'of_next_year', status, message: 'no', requestId: 'r1' };
    await expect(client().pools.list()).rejects.toMatchObject(error);
    expect(times).toHaveLength(1);
  });

  it('ends a stream if it does not pass, and is waited for if it does', async () => {
    const { client, times } = await serve(
      refusal(429, 'limited_next_year', { 'retry-after': '0' }),
      refusal(403, 'of_next_year'),
    );
    await expect(take(client(), 1)).rejects.toMatchObject({ code: 'of_next_year' });
    expect(times).toHaveLength(2);
  });

  it('is not what something in between says in JSON', async () => {
    const { client } = await serve((response) =>
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"code":"BLOCKED","error":"waf"}'),
    );
    await expect(client().pools.list()).rejects.toMatchObject({ code: 'no_answer', status: 403 });
  });
});
