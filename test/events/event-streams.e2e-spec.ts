import { once } from 'node:events';
import type { Server } from 'node:http';
import { type Socket, connect } from 'node:net';
import { MAX_IDLE } from '#api/shutdown';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { SessionFeed } from '#features/access/session-feed';
import { type SignedIn, jwt, until, useApp } from '../support/app';
import { EventReader, holdSweeps, holdTerms } from '../support/events/event-source';

const app = useApp({ EVENT_STREAMS_PER_USER: '3' });
let user: SignedIn;
const open: EventReader[] = [];
const sockets: Socket[] = [];

/** Listeners of the outbox that are no stream. */
let others: number;

beforeAll(async () => {
  await app.listen();
  user = await app.signIn();
  others = app.nest.get(OutboxPoller, { strict: false }).tasks.size;
});
// Streams are swept only where a test says so. When the database tells late which sessions have ended, as it may on a
// busy machine, the next sweep ends all of them.
beforeEach(() => fakeTimers());
afterEach(async () => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  for (const reader of open.splice(0)) reader.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  await until(() => app.nest.get(OutboxPoller, { strict: false }).tasks.size === others);
});

async function follow(token = user.token): Promise<EventReader> {
  const reader = await new EventReader().open(app.port!, '/events', { authorization: `Bearer ${token}` });
  open.push(reader);
  expect(reader.status).toBe(200);
  await until(() => reader.lastEventId !== '');
  return reader;
}
/** A connection that sends nothing. */
async function idle(): Promise<Socket> {
  const socket = connect(app.port!, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  await once(socket.resume(), 'connect');
  return socket;
}
/** Rows of events that everybody may read, each event of so many bytes. */
const publish = (rows = 1, count = 1, bytes = 10): Promise<unknown> =>
  app.sql(
    `INSERT INTO outbox (count, items) SELECT $2::integer, json_agg(json_build_object(
       'topic', 'draw.closed', 'drawId', n, 'txHash', repeat('x', $3))) FROM generate_series(1, $1) r, generate_series(1, $2) n
     GROUP BY r ORDER BY r`,
    [rows, count, bytes],
  );
/** Only setInterval is fake, and what the test names, so that sockets and the database go on. */
const FAKE = ['setInterval', 'clearInterval'] as const;
type Fake = (typeof FAKE)[number] | 'Date';
function fakeTimers(...more: Fake[]): void {
  const fake: string[] = [...FAKE, ...more];
  const all = [
    'Date',
    'hrtime',
    'nextTick',
    'performance',
    'queueMicrotask',
    'setImmediate',
    'clearImmediate',
    'setInterval',
    'clearInterval',
    'setTimeout',
    'clearTimeout',
  ] as const;
  jest.useFakeTimers({ now: Date.now(), doNotFake: all.filter((name) => !fake.includes(name)) });
}

it('cuts a client that does not read, gives its place back, and serves others on', async () => {
  const [slow, quick] = [await follow(), await follow()];
  slow.pause();
  // Until it is more than the sockets of both sides hold.
  const cut = async (): Promise<number> => Number(/reason="too_slow"} (\d+)/.exec(await app.metrics())?.[1]);
  const before = await cut();
  let rows = 0;
  while ((await cut()) === before) {
    await publish(1, 1000, 1000);
    rows++;
    await until(() => quick.events.length === 1000 * rows);
  }
  expect(slow.ended).toBe(false);
  // Its place is free.
  await follow();
  await follow();
  slow.resume();
  await until(() => slow.ended);
  expect(slow.events.length).toBeLessThan(1000 * rows);
  expect(quick.ended).toBe(false);
});

describe('outlives the limits of connections', () => {
  const server = (): Server => app.nest.getHttpServer();

  it('that send nothing, or get nothing, for long', async () => {
    const opened: Socket[] = [];
    const note = (socket: Socket): unknown => opened.push(socket);
    server().on('connection', note);
    await follow();
    await idle();
    server().off('connection', note);
    // The time between two comments is within its limit.
    expect([opened[0].timeout! > 15_000, opened[1].timeout]).toEqual([true, server().timeout]);
    expect(opened[0].timeout).toBeGreaterThan(server().timeout);
  });

  it('that are too many and idle', async () => {
    // The connection of earlier requests would be one more.
    await app.get('/health/live', undefined, { connection: 'close' });
    const connections = (): number => (server() as unknown as { _connections: number })._connections;
    await until(() => connections() === 0);
    const reader = await follow();
    const first = await idle();
    const closed = once(first, 'close');
    for (let i = 0; i < MAX_IDLE; i++) await idle();
    await closed;
    await until(() => connections() === 1 + MAX_IDLE);
    expect(sockets.filter((socket) => socket.destroyed)).toHaveLength(1);
    expect(reader.ended).toBe(false);
    await publish();
    await until(() => reader.events.length === 1);
  });
});

it('sends a comment every 15 seconds, with the place to resume at', async () => {
  // The comments come from the timer that also sweeps.
  holdSweeps();
  const reader = await follow();
  jest.advanceTimersByTime(14_999);
  await publish();
  await until(() => reader.events.length === 1);
  expect(reader.comments).toEqual([]);
  const place = reader.lastEventId;
  reader.lastEventId = '';
  jest.advanceTimersByTime(1);
  await until(() => reader.comments.length === 1);
  expect([reader.comments, reader.lastEventId]).toEqual([['ping'], place]);
  jest.advanceTimersByTime(15_000);
  await until(() => reader.comments.length === 2);
});

it('ends when its token expires, and not before', async () => {
  const exp = Math.floor(Date.now() / 1000) + 30;
  const token = jwt({ userId: user.user.id, address: user.address, exp });
  holdTerms();
  fakeTimers('Date');
  const [brief, other] = [await follow(token), await follow()];
  const feed = app.nest.get(SessionFeed, { strict: false });
  const { term } = feed;
  jest.setSystemTime(exp * 1000 - 1500);
  jest.advanceTimersByTime(1000);
  await until(() => feed.fresh);
  await publish();
  await until(() => brief.events.length === 1 && other.events.length === 1);
  expect(brief.ended).toBe(false);
  jest.setSystemTime(exp * 1000);
  jest.advanceTimersByTime(1000);
  await until(() => brief.ended);
  expect(other.ended).toBe(false);
  // It was not taken for one that may have ended unseen.
  expect(feed.term).toBe(term);
});
