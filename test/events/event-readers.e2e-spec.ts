import { Database } from '#platform/database/database';
import { AUDIENCES, type LedgerEvent, TOPICS, type Topic, eventsOf } from '#ledger/outbox/ledger-event';
import { EventBatch } from '#extensions/events/event-batch';
import { READERS_OF_POOLS } from '#extensions/events/readers.sql';
import { WebhookFanOut } from '#extensions/webhooks/webhook-fan-out';
import { type SignedIn, until, useApp } from '../support/app';
import { EventReader, holdSweeps } from '../support/events/event-source';
import { readable } from '../support/events/outbox';
import { verify } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });

/** The outsider is no member, but the events are about his account. */
const PEOPLE = ['owner', 'member', 'former', 'stranger', 'outsider'] as const;
type Person = (typeof PEOPLE)[number];

const EVERYONE = [...PEOPLE];
const OF_THE_POOL: Person[] = ['owner', 'member'];
const WITH_THE_ACCOUNT: Person[] = [...OF_THE_POOL, 'outsider'];

/** Who reads an event of each topic that has all fields. Its reversal has the same readers. */
const READERS: Record<Exclude<Topic, 'transaction.reverted'>, Person[]> = {
  reload: EVERYONE,
  'pool.created': WITH_THE_ACCOUNT,
  'deposit.submitted': WITH_THE_ACCOUNT,
  'deposit.confirmed': WITH_THE_ACCOUNT,
  'withdrawal.confirmed': WITH_THE_ACCOUNT,
  'yield.accrued': WITH_THE_ACCOUNT,
  'yield.claimed': WITH_THE_ACCOUNT,
  'deposit.expired': WITH_THE_ACCOUNT,
  'pool.cancelled': WITH_THE_ACCOUNT,
  'draw.opened': EVERYONE,
  'tickets.issued': ['outsider'],
  'draw.closed': EVERYONE,
  'draw.completed': EVERYONE,
  'draw.cancelled': EVERYONE,
  'prize.paid': ['outsider'],
  'draw.refunded': ['outsider'],
  'circle.opened': WITH_THE_ACCOUNT,
  'circle.started': WITH_THE_ACCOUNT,
  'circle.round_ended': WITH_THE_ACCOUNT,
  'circle.completed': WITH_THE_ACCOUNT,
  'circle.cancelled': WITH_THE_ACCOUNT,
  'webhook.paused': ['outsider'],
  'webhook.disabled': ['outsider'],
  'webhook.resumed': ['outsider'],
};

interface Case {
  name: string;
  event: Record<string, unknown>;
  readers: Person[];
}

const LAST = 'the last one';
const people = {} as Record<Person, SignedIn>;
let pool: string;
let cases: Case[];
const streams = new Map<Person, EventReader>();
/** They come later, with the place where the others began. */
const resumed = new Map<Person, EventReader>();
const webhooks = new Map<Person, string>();

beforeAll(async () => {
  holdSweeps();
  await app.listen();
  await until(async () => (await app.sql('SELECT FROM outbox_consumers')).length > 0);
  for (const person of PEOPLE) people[person] = await app.signIn();
  const { owner, member, former, stranger, outsider } = people;
  const members = [member.address, former.address];
  ({ id: pool } = (await app.createPool(owner, { type: 'cooperative', members })) as { id: string });
  await app.createPool(stranger);
  await app.send({ method: 'DELETE', url: `/pools/${pool}/membership`, as: former });
  const about = { poolId: pool, account: outsider.address };
  const known = Object.entries(READERS).map(([topic, readers]) => ({ topic, about, readers }));
  const each = [
    ...known,
    { topic: 'deposit.confirmed', about: { poolId: pool }, readers: OF_THE_POOL },
    { topic: 'deposit.confirmed', about: { account: outsider.address }, readers: ['outsider'] as Person[] },
    { topic: 'deposit.confirmed', about: {}, readers: [] },
    { topic: 'tickets.issued', about: { poolId: pool }, readers: [] },
  ];
  cases = each.flatMap(({ topic, about: fields, readers }, n) => [
    { name: `${n} ${topic}`, event: { topic, ...fields }, readers },
    {
      name: `${n} ${topic} reverted`,
      event: { topic: 'transaction.reverted', reverted: topic, ...fields },
      readers,
    },
  ]);
  await readable(app);
  for (const person of PEOPLE) {
    const { token } = people[person];
    const headers = { authorization: `Bearer ${token}` };
    streams.set(person, await new EventReader().open(app.port!, '/events', headers));
    const { body } = await app.post('/webhooks', { url: 'http://127.0.0.1:1/' }, people[person]);
    webhooks.set(person, body.data.id as string);
    await verify(app, body.data.id as string);
  }
  cases.push({ name: LAST, event: { topic: 'draw.closed' }, readers: EVERYONE });
  const items = cases.map(({ name, event }) => ({ ...event, name }));
  await until(() => [...streams.values()].every(({ lastEventId }) => lastEventId !== ''));
  const places = new Map(PEOPLE.map((person) => [person, streams.get(person)!.lastEventId]));
  await app.sql('INSERT INTO outbox (count, items) VALUES ($1, $2)', [items.length, JSON.stringify(items)]);
  await readable(app);
  await until(() => [...streams.values()].every(({ events }) => events.at(-1)?.data.name === LAST));
  for (const person of PEOPLE) {
    const { token } = people[person];
    const headers = { authorization: `Bearer ${token}`, 'last-event-id': places.get(person)! };
    resumed.set(person, await new EventReader().open(app.port!, '/events', headers));
  }
});
afterAll(() => {
  for (const stream of [...streams.values(), ...resumed.values()]) stream.close();
  jest.restoreAllMocks();
});

/** What was delivered to a webhook, by its event's `name`. */
const delivered = async (person: Person): Promise<string[]> => {
  const rows = await app.sql<{ name: string }>(
    `SELECT body::json ->> 'name' AS name FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
     WHERE webhook_id = $1 ORDER BY event_id`,
    [webhooks.get(person)],
  );
  return rows.map(({ name }) => name);
};

it('has a case for every topic', () =>
  expect([...Object.keys(READERS), 'transaction.reverted'].sort()).toEqual([...TOPICS].sort()));

const seenBy = (reader: EventReader): string[] => reader.events.map(({ data }) => data.name as string);

it.each([
  ['streams', (person: Person) => seenBy(streams.get(person)!)],
  ['streams that catch up', (person: Person) => seenBy(resumed.get(person)!)],
  ['webhooks', delivered],
] as const)('%s tell an event to those who may read it, and to nobody else', async (_, told) => {
  for (const person of PEOPLE) {
    await until(async () => (await told(person)).includes(LAST));
    const may = cases.filter(({ readers }) => readers.includes(person));
    expect([person, await told(person)]).toEqual([person, may.map(({ name }) => name)]);
  }
});

it('neither tells anybody of a topic that is unknown', async () => {
  const about = { poolId: pool, account: people.outsider.address };
  const items = ['goal.reached', 'toString', 'draws.opened'].flatMap((topic) => [
    { topic, ...about, name: topic },
    { topic: 'transaction.reverted', reverted: topic, ...about, name: topic },
  ]);
  const events = eventsOf({ xid: `${2n ** 40n}`, position: '1', items } as never) as LedgerEvent[];
  await app.sql('DELETE FROM webhook_deliveries');
  await app.nest.get(WebhookFanOut).onEvents(events);
  expect(await app.sql('SELECT FROM webhook_deliveries')).toEqual([]);
  const addresses = PEOPLE.map((person) => people[person].address);
  const rows = await app.nest.get(Database).readAll(READERS_OF_POOLS, { pools: [pool], addresses });
  const readers = new Map(rows.map((row) => [row.pool, new Set(row.addresses.split(' '))]));
  expect(readers.get(pool)?.size).toBe(2);
  const batch = new EventBatch(events, readers);
  const all = new Set([...TOPICS, ...items.map(({ topic }) => topic as Topic)]);
  for (const address of addresses) expect(batch.textFor(address, all, '')).toBe('');
  expect(Object.keys(AUDIENCES)).not.toContain('goal.reached');
});
