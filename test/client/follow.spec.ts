import type { Follower, SavingsClient, SavingsEvent, Start } from '@pooled-savings/client';
import { invalidation, savingsQueries } from '@pooled-savings/client/queries';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { until } from '../support/app';
import { StartService, idOf, refusal, tokenOf } from '../support/processes/start-service';
import { type Tab, TestBrowser } from '../support/browser/tabs';

const A = `0x${'a'.repeat(40)}`;
const B = `0x${'b'.repeat(40)}`;
const START = 'GET /users/me/start';
const STREAM = 'GET /events';
const MINUTE_MS = 60_000;

let service: StartService;
let browser: TestBrowser;
const open: Follower[] = [];

beforeEach(async () => {
  service = new StartService();
  await service.listen();
  browser = new TestBrowser();
  // Time passes when a test says so; what comes over the network comes as fast as it can.
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
});
afterEach(async () => {
  for (const follower of open.splice(0)) follower.stop();
  jest.useRealTimers();
  await service.stop();
});

interface Opened {
  tab: Tab;
  client: SavingsClient;
  follower: Follower;
  events: SavingsEvent[];
}

function follow(address = A, tab = browser.open(), token = tokenOf(address)): Opened {
  const client = service.client(tab, token);
  const follower = client.follow();
  open.push(follower);
  const events: SavingsEvent[] = [];
  follower.onEvent((event) => events.push(event));
  return { tab, client, follower, events };
}

/** Lets time pass in steps, and the network in between. */
async function pass(ms: number, stepMs = 250): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    await jest.advanceTimersByTimeAsync(Math.min(left, stepMs));
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
  }
}

/** Waits for something that the clock or the network brings. */
async function reach(condition: () => unknown): Promise<void> {
  await until(async () => {
    if (await condition()) return true;
    await pass(50, 50);
    return false;
  });
}

const live = (...opened: Opened[]): Promise<void> =>
  reach(() => opened.every(({ follower }) => follower.state.live));
async function followLive(): Promise<Opened> {
  const opened = follow();
  await live(opened);
  return opened;
}
async function twoLive(): Promise<Opened[]> {
  const both = [follow(), follow()];
  await live(...both);
  return both;
}

it('reads once, and goes on with the stream from exactly there', async () => {
  const opened = await followLive();
  expect(service.asked).toEqual([START, STREAM]);
  expect(service.lastIds).toEqual([idOf(1)]);
  expect(opened.follower.state).toMatchObject({ data: { cursor: idOf(1) }, error: null, ended: false });
});

it('reads once for many events that do not carry what changed, those of a newer service too', async () => {
  const opened = await followLive();
  for (let n = 0; n < 20; n++) service.happen(n % 2 ? 'draw.opened' : 'pool.painted');
  await reach(() => opened.follower.state.data?.cursor === idOf(21) && service.count(START) === 2);
  await pass(5_000);
  expect(service.asked).toEqual([START, STREAM, START]);
  expect(opened.events).toHaveLength(20);
});

it('reads for itself after an event, although the same read has been under way since before it', async () => {
  const opened = await followLive();
  service.freeze();
  const before = opened.client.start();
  await reach(() => service.count(START) === 2);
  service.happen('pool.painted');
  await reach(() => opened.events.length === 1);
  // Less than it takes until an attempt without an answer is repeated.
  await pass(2_000);
  expect(service.count(START)).toBe(3);
  service.thaw();
  await before;
  await reach(() => opened.follower.state.data?.cursor === idOf(2));
});

it('goes on for everyone although a listener throws, whose error is reported', async () => {
  const report = jest.spyOn(console, 'error').mockReturnValue(undefined);
  const opened = follow();
  const failure = new Error('a mistake of the page');
  const fail = (): void => {
    throw failure;
  };
  opened.follower.subscribe(fail);
  opened.follower.onEvent(fail);
  const later: SavingsEvent[] = [];
  opened.follower.onEvent((event) => later.push(event));
  await live(opened);
  service.happen('pool.painted');
  service.happen('pool.painted');
  await reach(() => later.length === 2);
  await reach(() => opened.follower.state.data?.cursor === idOf(3));
  expect(service.asked).toEqual([START, STREAM, START]);
  expect(new Set(report.mock.calls.flat())).toEqual(new Set([failure]));
  report.mockRestore();
});

it('reads nothing while nobody looks, whatever happens, and once when somebody does', async () => {
  const [first, second] = await twoLive();
  for (const { tab } of [first, second]) tab.look('hidden');
  await pass(30_000);
  for (let n = 0; n < 5; n++) {
    service.happen('pool.painted');
    await pass(5_000);
  }
  expect(second.events).toHaveLength(5);
  expect(service.count(START)).toBe(1);
  second.tab.look('visible');
  await reach(() => second.follower.state.data?.cursor === idOf(6));
  first.tab.look('visible');
  await pass(30_000);
  expect(service.count(START)).toBe(2);
});

it('reads nothing in a hidden tab that goes on for one that is closed, until somebody looks', async () => {
  const [first, second] = await twoLive();
  for (const { tab } of [first, second]) tab.look('hidden');
  first.follower.stop();
  await reach(() => service.count(STREAM) === 2);
  await pass(30_000);
  expect(service.count(START)).toBe(1);
  second.tab.look('visible');
  await reach(() => service.count(START) === 2);
});

describe('queries', () => {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, gcTime: Infinity } } });
  const stops: (() => void)[] = [];
  let reads: number;
  let answer: (() => void) | undefined;
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
    queries.clear();
  });

  /** A query on the page, whose reads are counted; each waits for `answer` if that is wanted. */
  function show(client: SavingsClient, { waits = false } = {}): void {
    reads = 0;
    const { queryKey } = savingsQueries(client).pools();
    const queryFn = async (): Promise<number> => {
      const read = ++reads;
      if (waits) await new Promise<void>((resolve) => (answer = resolve));
      return read;
    };
    stops.push(new QueryObserver(queries, { queryKey, queryFn }).subscribe(() => undefined));
  }

  it('are read again once events can no longer be missed, and when one of theirs happens', async () => {
    const client = service.client(browser.open(), tokenOf(A));
    show(client);
    await reach(() => reads === 1);
    service.happen('pool.created', { poolId: 'p' });
    const follower = client.follow();
    open.push(follower);
    stops.push(invalidation(client, follower, queries));
    await reach(() => reads === 2);
    await reach(() => follower.state.live);
    service.happen('webhook.paused', { account: A });
    service.happen('pool.created', { poolId: 'p' });
    await reach(() => reads === 3);
    await pass(5_000);
    expect(reads).toBe(3);
  });

  it('are read again if their first read may have begun before the event', async () => {
    const opened = await followLive();
    show(opened.client, { waits: true });
    stops.push(invalidation(opened.client, opened.follower, queries));
    await reach(() => reads === 1);
    service.happen('pool.created', { poolId: 'p' });
    await reach(() => opened.events.length === 1);
    await pass(1_000);
    expect(reads).toBe(1);
    answer?.();
    await reach(() => reads > 1);
  });

  it('are not read while nobody looks', async () => {
    const opened = await followLive();
    const { page: document, window } = opened.tab;
    Object.assign(globalThis, { document, window });
    stops.push(() => Object.assign(globalThis, { document: undefined, window: undefined }));
    show(opened.client);
    stops.push(invalidation(opened.client, opened.follower, queries));
    await reach(() => reads === 2);
    opened.tab.look('hidden');
    for (let n = 0; n < 5; n++) {
      service.happen('pool.created', { poolId: 'p' });
      await pass(5_000);
    }
    expect(reads).toBe(2);
    opened.tab.look('visible');
    await reach(() => reads === 3);
  });
});

it('reads once more after a reload', async () => {
  const opened = await followLive();
  service.now = 7;
  for (const stream of service.streams.keys()) stream.write(`id: ${idOf(7)}\nevent: reload\ndata: {}\n\n`);
  await reach(() => opened.follower.state.data?.cursor === idOf(7));
  await pass(5_000);
  expect(service.asked).toEqual([START, STREAM, START]);
});

it('reads no more often than the limits bear, whatever happens', async () => {
  const opened = await followLive();
  for (let second = 0; second < 15 * 60; second++) {
    service.happen('draw.opened');
    await pass(1_000, 1_000);
  }
  expect(service.asked.length).toBeLessThanOrEqual(45);
  await reach(() => opened.follower.state.data?.cursor === idOf(service.now));
});

describe('tabs', () => {
  it('share one stream and what was read', async () => {
    const [first, second, third] = [follow(), follow(), follow()];
    await live(first, second, third);
    service.happen('webhook.paused', { account: A });
    await reach(() => [first, second, third].every(({ events }) => events.length === 1));
    expect(service.asked).toEqual([START, STREAM]);
    for (const { follower } of [first, second, third]) expect(follower.state).toEqual(first.follower.state);
  });

  it.each(['refused locks', 'refused channels', 'refused both', 'no locks'])(
    'each read for themselves with %s',
    async (what) => {
      const denied = (): never => {
        throw new DOMException('denied', 'SecurityError');
      };
      const request = (): Promise<never> => new Promise(setImmediate).then(denied);
      const [first, second] = [browser.open(), browser.open()].map((tab) => {
        if (/locks|both/.test(what)) Object.assign(tab.locks, { request });
        if (/channels|both/.test(what)) Object.assign(tab, { channel: denied });
        if (what === 'no locks') Object.assign(tab, { locks: undefined });
        return follow(A, tab);
      });
      await live(first, second);
      expect([service.count(START), service.count(STREAM)]).toEqual([2, 2]);
    },
  );

  it('go on from where the one that is closed was', async () => {
    const [first, second] = await twoLive();
    service.happen('webhook.paused', { account: A });
    await reach(() => second.events.length === 1);
    first.follower.stop();
    await reach(() => service.count(STREAM) === 2);
    await live(second);
    service.happen('webhook.resumed', { account: A });
    await reach(() => second.events.length === 2);
    expect(service.lastIds.at(-1)).toBe(idOf(2));
  });

  it('read what the one that is closed had not read yet', async () => {
    const [first, second] = await twoLive();
    service.happen('pool.painted');
    await reach(() => second.events.length === 1);
    first.follower.stop();
    await reach(() => second.follower.state.data?.cursor === idOf(2));
    await live(second);
    expect(service.lastIds).toEqual([idOf(1), idOf(2)]);
  });

  it('read what one of them wanted read once more before the one that leads was closed', async () => {
    const [first, second] = await twoLive();
    second.follower.refresh();
    await reach(() => browser.said.some(({ data }) => data.kind === 'refresh'));
    first.follower.stop();
    await reach(() => service.count(START) === 2);
    await live(second);
  });

  it('of another account get nothing of it', async () => {
    const [mine, other] = [follow(A), follow(B)];
    await live(mine, other);
    expect([...service.streams.values()].sort()).toEqual([A, B].map((each) => `Bearer ${tokenOf(each)}`));
    const names = browser.said.filter(({ data }) => data.kind === 'state').map(({ name }) => name);
    expect(new Set(names).size).toBe(2);
    expect(names[0]).toMatch(/0x(a{40}|b{40})$/);
  });

  it('take over from one that is frozen; what that one says later is old', async () => {
    const first = await followLive();
    const second = await followLive();
    first.tab.isFrozen = true;
    await reach(() => service.count(STREAM) === 2);
    service.happen('pool.painted');
    await reach(() => second.follower.state.data?.cursor === idOf(2));
    first.tab.thaw();
    await pass(2_000);
    service.happen('webhook.paused', { account: A });
    await reach(() => first.events.at(-1)?.topic === 'webhook.paused');
    await reach(() => service.streams.size === 1);
    expect(first.follower.state).toEqual(second.follower.state);
  });

  it('that were frozen are told to reload if they have missed something, and only then', async () => {
    const [first, second] = await twoLive();
    for (const [topics, cursor] of [
      [[], 1],
      [['reload'], 3],
    ] as const) {
      second.tab.tell('freeze');
      while (service.now < cursor) service.happen('webhook.paused', { account: A });
      await reach(() => first.events.length === cursor - 1);
      second.tab.tell('resume');
      await pass(2_000);
      expect(second.events.map(({ topic }) => topic)).toEqual(topics);
    }
    expect(second.events).toEqual([{ topic: 'reload', id: idOf(3) }]);
    service.happen('webhook.resumed', { account: A });
    await reach(() => second.events.at(-1)?.topic === 'webhook.resumed');
  });

  it('that go into the cache of pages hold nothing, and take part again when they are back', async () => {
    const opened = await followLive();
    opened.tab.tell('pagehide');
    await reach(() => service.streams.size === 0);
    expect([browser.held.size, browser.lines.length]).toEqual([0, 1]);
    service.happen('pool.painted');
    opened.tab.tell('pageshow');
    await reach(() => service.streams.size === 1);
    expect(service.lastIds.at(-1)).toBe(idOf(1));
  });
});

describe('without a stream', () => {
  beforeEach(() => {
    service.refusesStreams = (response) => response.destroy();
  });

  it('polls at growing times, up to a minute, and bears it for a quarter of an hour', async () => {
    const opened = follow();
    await reach(() => opened.follower.state.data);
    await pass(15 * MINUTE_MS, 1_000);
    expect(opened.follower.state.live).toBe(false);
    expect(service.count(START)).toBeGreaterThan(12);
    expect(service.asked.length).toBeLessThan(70);
    const before = service.count(START);
    await pass(3 * MINUTE_MS, 1_000);
    expect(service.count(START) - before).toBeLessThanOrEqual(3);
  });

  it('does not poll while nobody looks; a tab that is looked at has the others poll for it', async () => {
    const [first, second] = [follow(), follow()];
    await reach(() => first.follower.state.data && second.follower.state.data);
    for (const { tab } of [first, second]) tab.look('hidden');
    await pass(MINUTE_MS, 1_000);
    const before = service.count(START);
    await pass(10 * MINUTE_MS, 1_000);
    expect(service.count(START)).toBe(before);
    second.tab.look('visible');
    await pass(2 * MINUTE_MS, 1_000);
    expect(service.count(START)).toBeGreaterThan(before);
  });

  it('is not live with a proxy that keeps everything back', async () => {
    service.refusesStreams = (response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const opened = follow();
    await reach(() => opened.follower.state.data);
    await pass(MINUTE_MS, 1_000);
    expect(opened.follower.state.live).toBe(false);
    expect(service.count(START)).toBeGreaterThan(2);
  });
});

describe('a limit', () => {
  it('stops all requests of all tabs until its time, and says until when', async () => {
    const [first, second, other] = [follow(), follow(), follow(B)];
    await live(first, second, other);
    service.refuses = refusal(429, 'rate_limited_general', { 'retry-after': '600' });
    await expect(first.client.pools.list()).rejects.toMatchObject({ code: 'rate_limited_general' });
    await reach(() => [first, second, other].every(({ follower }) => follower.state.pausedUntil !== null));
    const at = second.follower.state.pausedUntil!;
    expect(at - Date.now()).toBeGreaterThan(590_000);
    const asked = service.asked.length;
    const read = service.count(START);
    const starts = [first, second, other].map(({ client }) => jest.spyOn(client, 'start'));
    service.happen('pool.painted');
    await expect(second.client.pools.list()).rejects.toMatchObject({ code: 'rate_limited_general' });
    await pass(at - Date.now() - 1_000, 1_000);
    expect(service.asked).toHaveLength(asked);
    service.refuses = undefined;
    await reach(() => service.asked.length > asked);
    expect(Date.now()).toBeGreaterThanOrEqual(at);
    // One tab reads for each account, once.
    await live(first, second, other);
    await reach(() =>
      [first, second, other].every(({ follower }) => follower.state.data?.cursor === idOf(2)),
    );
    await pass(5_000);
    expect(service.count(START)).toBe(read + 2);
    expect(starts.map(({ mock }) => mock.calls.length > 0)).toEqual([true, false, true]);
    expect(second.follower.state.pausedUntil).toBeNull();
  });
});

describe('a service that does not answer', () => {
  it('is said to be unreachable after five seconds, and goes on by itself', async () => {
    service.freeze();
    const opened = follow();
    await reach(() => service.asked.length === 1);
    await pass(4_000);
    expect(opened.follower.state.unreachable).toBe(false);
    await pass(1_500);
    expect(opened.follower.state).toMatchObject({ unreachable: true, data: null });
    service.thaw();
    await live(opened);
    expect(opened.follower.state).toMatchObject({ unreachable: false, data: { cursor: idOf(1) } });
    expect(service.asked).toEqual([START, STREAM]);
  });

  it('is noticed by a stream that goes silent, too', async () => {
    const opened = await followLive();
    service.freeze();
    await pass(35_000 + 500 + 5_000);
    expect(opened.follower.state.unreachable).toBe(true);
    service.thaw();
    await reach(() => !opened.follower.state.unreachable);
  });
});

describe('the end of the session', () => {
  it('is there at once for who has not signed in: nothing is asked for', async () => {
    service.refuses = refusal(401, 'unauthorized');
    const follower = service.client(browser.open(), null).follow();
    open.push(follower);
    await expect(follower.until(() => true)).rejects.toThrow('the session has ended');
    await pass(10 * MINUTE_MS, 1_000);
    expect(service.asked.length).toBeLessThanOrEqual(1);
  });

  it('ends what is followed, and forgets it', async () => {
    const opened = await followLive();
    service.refuses = refusal(401, 'token_revoked');
    for (const stream of service.streams.keys()) stream.destroy();
    await reach(() => opened.follower.state.ended);
    expect(opened.follower.state.data).toBeNull();
    expect(opened.client.session.state).toEqual({
      ...{ signedIn: false, address: null, expiresAt: null, ended: 'token_revoked' },
    });
    const asked = service.asked.length;
    await pass(10 * MINUTE_MS, 1_000);
    expect(service.asked).toHaveLength(asked);
  });

  it('is not undone by an answer that was complete before it', async () => {
    const client = service.client(browser.open(), tokenOf(A));
    let answer!: (data: Start) => void;
    const start = jest.spyOn(client, 'start').mockReturnValue(new Promise((resolve) => (answer = resolve)));
    const follower = client.follow();
    open.push(follower);
    await reach(() => start.mock.calls.length === 1);
    await client.signOut();
    answer({ cursor: idOf(1) } as Start);
    await pass(250);
    expect(follower.state).toMatchObject({ ended: true, data: null });
  });

  it('is told to the tabs with the same token; those with one of their own go on', async () => {
    const [first, second] = [follow(), follow()];
    const other = follow(A, browser.open(), tokenOf(A, 'own'));
    await live(first, second, other);
    await first.client.signOut();
    await reach(() => second.follower.state.ended);
    expect(second.client.session.state.ended).toBe('signed_out');
    await reach(() => [...service.streams.values()].at(-1) === `Bearer ${tokenOf(A, 'own')}`);
    expect(other.follower.state).toMatchObject({ ended: false, data: { cursor: idOf(1) } });
    await other.client.signOut({ everywhere: true });
    expect(other.client.session.state.signedIn).toBe(false);
  });

  it('everywhere is one for all tokens of the account, and for no other', async () => {
    const [first, other] = [follow(), follow(A, browser.open(), tokenOf(A, 'own'))];
    const stranger = follow(B);
    await live(first, other, stranger);
    await first.client.signOut({ everywhere: true });
    await reach(() => other.follower.state.ended);
    expect(stranger.follower.state.ended).toBe(false);
  });
});
