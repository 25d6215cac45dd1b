import type { AddressInfo } from 'node:net';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { SessionFeed } from '#features/access/session-feed';
import { type SignedIn, until, useApp } from '../support/app';
import { EventReader, holdSweeps } from '../support/events/event-source';
import { addTransaction } from '../support/ledger';
import { readable } from '../support/events/outbox';

const app = useApp({ EVENT_STREAMS_PER_USER: '3' });
let owner: SignedIn;
let member: SignedIn;
let stranger: SignedIn;
let pool: string;
const open: EventReader[] = [];

/** Listeners of the outbox that are no stream. */
let others: number;

beforeAll(async () => {
  await app.listen();
  [owner, member, stranger] = [await app.signIn(), await app.signIn(), await app.signIn()];
  ({ id: pool } = (await app.createPool(owner, { members: [member.address] })) as { id: string });
  others = app.nest.get(OutboxPoller, { strict: false }).tasks.size;
});
beforeEach(() => void holdSweeps());
afterEach(async () => {
  jest.restoreAllMocks();
  for (const reader of open.splice(0)) reader.close();
  // The consumers, and what serves webhooks, stay.
  await until(() => app.nest.get(OutboxPoller, { strict: false }).tasks.size === others);
});

const bearer = (user: { token: string }): Record<string, string> => ({
  authorization: `Bearer ${user.token}`,
});
async function follow(
  user: { token: string },
  { path = '/events', headers = {}, port = app.port! } = {},
): Promise<EventReader> {
  // A stream begins after what can be read when it opens.
  await readable(app);
  const reader = await new EventReader().open(port, path, { ...bearer(user), ...headers });
  open.push(reader);
  return reader;
}
const pay = async (account = owner.address): Promise<string> =>
  (await addTransaction(app, { poolId: pool, account })).id;
const ids = (reader: EventReader): string[] => reader.events.map(({ data }) => data.transactionId as string);

it('sends what happened', async () => {
  const reader = await follow(owner);
  expect(reader.status).toBe(200);
  expect(reader.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  expect(reader.headers['cache-control']).toBe('no-store, no-transform');
  const id = await pay();
  await until(() => reader.events.length === 1);
  const [event] = reader.events;
  expect(event).toMatchObject({
    event: 'deposit.confirmed',
    data: { topic: 'deposit.confirmed', poolId: pool, transactionId: id, amount: '1000' },
  });
  expect(event.id).toBe(event.data.id);
  expect(reader.retry).toBeGreaterThanOrEqual(1000);
});

it('stops telling a member who has left', async () => {
  const { id } = (await app.createPool(owner, { members: [member.address] })) as { id: string };
  const reader = await follow(member);
  expect((await app.send({ method: 'DELETE', url: `/pools/${id}/membership`, as: member })).status).toBe(200);
  await addTransaction(app, { poolId: id, account: owner.address });
  const next = await pay();
  await until(() => reader.events.length > 0);
  expect(ids(reader)).toEqual([next]);
});

it('sends the topics that were asked for, and refuses others', async () => {
  const reader = await follow(owner, { path: '/api/events?topics=withdrawal.confirmed,draw.opened' });
  await pay();
  const { id } = await addTransaction(app, {
    poolId: pool,
    account: owner.address,
    type: 'WITHDRAWAL',
    amount: '1',
  });
  await until(() => reader.events.length > 0);
  expect(ids(reader)).toEqual([id]);
  // Comes in any case.
  await app.sql(`INSERT INTO outbox (count, items) VALUES (1, '[{"topic": "reload", "publishedFrom": 7}]')`);
  await until(() => reader.events.length > 1);
  expect(reader.events[1]).toMatchObject({ event: 'reload', data: { publishedFrom: 7 } });
  const refused = await follow(owner, { path: '/events?topics=everything' });
  await until(() => refused.ended);
  expect([refused.status, JSON.parse(refused.body)]).toEqual([
    400,
    expect.objectContaining({ success: false, error: 'Validation failed', code: 'validation_failed' }),
  ]);
});

it.each(['header', 'query'])(
  'goes on where it was, at another replica too: Last-Event-ID in the %s',
  async (way) => {
    const first = await follow(owner);
    const before = await pay();
    await until(() => first.events.length === 1);
    expect(ids(first)).toEqual([before]);
    first.close();
    const missed: string[] = [];
    for (let i = 0; i < 5; i++) missed.push(await pay());
    const other = await app.replica();
    await other.listen(0, '127.0.0.1');
    const { port } = other.getHttpServer().address() as AddressInfo;
    const last = first.lastEventId;
    const again = await follow(
      owner,
      way === 'header'
        ? { port, headers: { 'last-event-id': last } }
        : { port, path: `/events?lastEventId=${last}` },
    );
    missed.push(await pay());
    await until(() => again.events.length >= missed.length);
    expect(ids(again)).toEqual(missed);
  },
);

it('has no gap and no repetition for clients that come while much happens', async () => {
  const first = await follow(owner);
  await until(() => first.lastEventId !== '');
  const start = first.lastEventId;
  const all: string[] = [];
  const writing = (async () => {
    for (let i = 0; i < 20; i++) all.push(await pay());
  })();
  // Each of them begins at the first event, and joins the live ones somewhere on the way.
  for (let i = 0; i < 4; i++) {
    await until(() => all.length >= 5 * i);
    const reader = await follow(owner, { headers: { 'last-event-id': start } });
    const enough = all.length + 3;
    await until(() => reader.events.length >= Math.min(enough, 20));
    reader.close();
    await until(() => reader.ended);
    await until(() => all.length >= reader.events.length);
    expect(ids(reader)).toEqual(all.slice(0, reader.events.length));
  }
  await writing;
  await until(() => first.events.length >= all.length);
  expect(ids(first)).toEqual(all);
});

it('says reload to who was left behind, and for what is no id', async () => {
  const old = await follow(owner);
  await until(() => old.lastEventId !== '');
  old.close();
  await pay();
  await app.sql(`UPDATE outbox SET created_at = now() - interval '8 days'`);
  await app.sweep('outbox');
  // Events that are still stored are not those that were missed.
  await pay();
  for (const last of [old.lastEventId, 'nonsense', `${'f'.repeat(11)}0-${'0'.repeat(12)}-0001`]) {
    const reader = await follow(owner, { headers: { 'last-event-id': last } });
    await until(() => reader.events.length === 1);
    expect(reader.events[0].event).toBe('reload');
    const id = await pay();
    await until(() => reader.events.length === 2);
    expect(reader.events[1].data.transactionId).toBe(id);
    reader.close();
    await until(() => reader.ended);
  }
});

describe('tickets', () => {
  const issue = async (): Promise<string> => {
    const { status, body } = await app.post('/events/ticket', undefined, owner);
    expect(status).toBe(201);
    return body.data.ticket as string;
  };
  const use = async (ticket: string): Promise<EventReader> => {
    const reader = await new EventReader().open(app.port!, `/events?ticket=${ticket}`);
    open.push(reader);
    return reader;
  };

  it('open one stream each, as their user', async () => {
    const ticket = await issue();
    const readers = await Promise.all([use(ticket), use(ticket), use(ticket)]);
    expect(readers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    const reader = readers.find(({ status }) => status === 200)!;
    const id = await pay();
    await until(() => reader.events.length === 1);
    expect(ids(reader)).toEqual([id]);
    const refused = readers.find(({ status }) => status === 401)!;
    await until(() => refused.ended);
    expect(JSON.parse(refused.body)).toEqual({
      success: false,
      error: 'Invalid token',
      message: 'Invalid token',
      code: 'invalid_token',
    });
  });

  it('expire, are kept as digests, and are removed', async () => {
    const ticket = await issue();
    expect(JSON.stringify(await app.sql('SELECT * FROM event_tickets'))).not.toContain(ticket);
    await app.sql(`UPDATE event_tickets SET expires_at = now() - interval '1 second'`);
    expect((await use(ticket)).status).toBe(401);
    await app.sweep('event_tickets');
  });

  it('open nothing for a session that has ended', async () => {
    const user = await app.signIn();
    const { body } = await app.post('/events/ticket', undefined, user);
    await app.post('/auth/logout', undefined, user);
    expect((await use(body.data.ticket as string)).status).toBe(401);
  });

  it('are needed without a token', async () => {
    expect((await new EventReader().open(app.port!, '/events')).status).toBe(401);
    expect((await app.post('/events/ticket', undefined)).status).toBe(401);
  });
});

it('allows a user so many streams at once, others theirs, and gives the place back', async () => {
  const readers = [await follow(owner), await follow(owner), await follow(owner)];
  const refused = await follow(owner);
  await until(() => refused.ended);
  expect([refused.status, JSON.parse(refused.body)]).toEqual([
    429,
    {
      success: false,
      error: 'Too many open event streams',
      message: 'Too many open event streams',
      code: 'too_many_connections',
    },
  ]);
  expect((await follow(stranger)).status).toBe(200);
  readers[0].close();
  await until(async () => (await follow(owner)).status === 200);
});

it('answers HEAD with what a stream begins with, and opens none', async () => {
  for (let i = 0; i < 5; i += 1) {
    const answer = await fetch(`http://127.0.0.1:${app.port}/events`, {
      method: 'HEAD',
      headers: bearer(owner),
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
  }
  expect((await follow(owner)).status).toBe(200);
});

it('ends streams of sessions that end', async () => {
  const user = await app.signIn();
  const [reader, other] = [await follow(user), await follow(owner)];
  const feed = app.nest.get(SessionFeed, { strict: false });
  const { term } = feed;
  await app.post('/auth/logout', undefined, user);
  await until(() => reader.ended || feed.term !== term);
  expect(other.ended).toBe(false);
  // If the database told of the end too late, it is for a sweep.
  jest.restoreAllMocks();
  await until(() => reader.ended);
});
