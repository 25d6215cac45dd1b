import { Injectable, type Logger, Module, type Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import pino from 'pino';
import type { AddressInfo } from 'node:net';
import type * as ledger from '#ledger/outbox/ledger-event';
import { type LedgerEvent, TOPICS, type Topic, cursorText } from '#ledger/outbox/ledger-event';
import type * as handlers from '#ledger/outbox/on-ledger-event';
import { OnLedgerEvent } from '#ledger/outbox/on-ledger-event';
import { UnknownTopics } from '#ledger/outbox/unknown-topics';
import type * as setup from '#api/app.setup';
import type * as support from '../support/app';
import { JWT_SECRET, type SignedIn, until, useApp } from '../support/app';
import { EventReader, holdSweeps } from '../support/events/event-source';
import { readable, storedCursor } from '../support/events/outbox';
import { verify } from '../support/events/webhooks';

/** A topic that only the newer version knows. */
const NEW_TOPIC = 'goal.reached';

/** A module whose consumer writes down the events that it is given. */
function goalsModule(topics: string[], given: LedgerEvent[], On = OnLedgerEvent): Type {
  @Injectable()
  class Goals {
    @On(topics as Topic[], { consumer: 'test.goals' })
    onEvent(event: LedgerEvent): void {
      given.push(event);
    }
  }

  @Module({ providers: [Goals] })
  class GoalsModule {}
  return GoalsModule;
}

/** An API of the next version, which has one topic more, on the database of the present one. */
async function newer(url: string, given: LedgerEvent[]): Promise<NestFastifyApplication> {
  let app: NestFastifyApplication;
  await jest.isolateModulesAsync(async () => {
    /* eslint-disable @typescript-eslint/no-require-imports */
    const { AUDIENCES, PAYLOADS, TOPICS: topics } = require('#ledger/outbox/ledger-event') as typeof ledger;
    Object.assign(AUDIENCES, { [NEW_TOPIC]: 'pool' });
    topics.push(NEW_TOPIC as Topic);
    Object.assign(PAYLOADS, { [NEW_TOPIC]: PAYLOADS['deposit.confirmed'] });
    // Decorators read the topics when their files are loaded.
    const { OnLedgerEvent: On } = require('#ledger/outbox/on-ledger-event') as typeof handlers;
    const { settings } = require('../support/app') as typeof support;
    const { createApp } = require('#api/app.setup') as typeof setup;
    app = await createApp(settings(url, { WEBHOOK_ALLOW_PRIVATE: 'true', JWT_SECRET }), silent, {
      modules: [goalsModule(['deposit.confirmed', NEW_TOPIC], given, On)],
    });
    /* eslint-enable @typescript-eslint/no-require-imports */
  });
  return app!;
}

const silent = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;
const nameOf = (event: unknown): string => (event as { name: string }).name;

describe('a reader', () => {
  const lines: string[] = [];
  const write = (text: string): unknown => lines.push(text);
  const logger = { warn: write, error: write } as unknown as Logger;
  let now = 0;
  beforeEach(() => {
    lines.length = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());
  const event = (id: string, topic: string, reverted?: string): LedgerEvent =>
    ({ id, topic, ...(reverted && { reverted }) }) as unknown as LedgerEvent;

  it('stops before the first event of an unknown topic, or one that takes such an event back', () => {
    const unknown = new UnknownTopics(logger, 'a reader');
    const known = TOPICS.map((topic) =>
      event('k', topic, topic === 'transaction.reverted' ? 'draw.opened' : ''),
    );
    expect(unknown.endOf(known)).toBe(TOPICS.length);
    expect(unknown.endOf([known[0], event('a', NEW_TOPIC), known[1]])).toBe(1);
    expect(unknown.endOf([known[0], known[0], event('b', 'transaction.reverted', NEW_TOPIC)])).toBe(2);
    expect(lines).toEqual([`a reader leaves "${NEW_TOPIC}" to a newer version, from event a on`]);
  });

  it('passes the topic once one event has stayed for an hour, and no other', () => {
    const unknown = new UnknownTopics(logger, 'a reader');
    const stops = (id: string, topic = NEW_TOPIC): boolean => unknown.endOf([event(id, topic)]) === 0;
    expect(stops('a')).toBe(true);
    now += HOUR_MS - 1;
    expect(stops('a')).toBe(true);
    now += 1;
    expect(stops('a')).toBe(false);
    expect(stops('b')).toBe(false);
    expect(stops('b', 'goal.missed')).toBe(true);
    expect(lines.at(-2)).toBe(
      `a reader passes "${NEW_TOPIC}" from now on: event a was unclaimed for an hour`,
    );
  });

  it('waits on for as long as newer processes take such events', () => {
    const unknown = new UnknownTopics(logger, 'a reader');
    for (let n = 0; n < 2000; n++, now += 5000) expect(unknown.endOf([event(`${n}`, NEW_TOPIC)])).toBe(0);
    expect(lines).toHaveLength(1);
  });
});

describe('while replicas are replaced', () => {
  /** What the handlers of the present and of the next version were given. */
  const [old, next]: LedgerEvent[][] = [[], []];
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const app = useApp(
    { WEBHOOK_ALLOW_PRIVATE: 'true' },
    { modules: [goalsModule(['deposit.confirmed'], old)], logger },
  );
  const replicas: NestFastifyApplication[] = [];
  const streams: EventReader[] = [];
  let member: SignedIn;
  let pool: string;
  let webhook: string;

  beforeAll(async () => {
    await app.listen();
    const owner = await app.signIn();
    member = await app.signIn();
    ({ id: pool } = (await app.createPool(owner, { members: [member.address] })) as { id: string });
    await until(async () => (await app.sql('SELECT FROM outbox_consumers')).length === 2);
    await readable(app);
    const { body } = await app.post('/webhooks', { url: 'http://127.0.0.1:1/' }, member);
    webhook = body.data.id as string;
    await verify(app, webhook);
  });
  beforeEach(() => holdSweeps());
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const stream of streams.splice(0)) stream.close();
    for (const replica of replicas.splice(0)) await replica.close();
    old.length = next.length = lines.length = 0;
    await app.sql('DELETE FROM webhook_deliveries');
  });

  const publish = async (...events: [topic: string, name: string][]): Promise<void> => {
    const items = events.map(([topic, name]) => ({ topic, poolId: pool, name }));
    await app.sql('INSERT INTO outbox (count, items) VALUES ($1, $2)', [items.length, JSON.stringify(items)]);
    await readable(app);
  };
  const start = async (): Promise<NestFastifyApplication> => {
    const replica = await newer(app.database.url, next);
    replicas.push(replica);
    return replica;
  };
  const follow = async (port: number, lastEventId?: string): Promise<EventReader> => {
    const headers = {
      authorization: `Bearer ${member.token}`,
      ...(lastEventId && { 'last-event-id': lastEventId }),
    };
    const stream = await new EventReader().open(port, '/events', headers);
    streams.push(stream);
    await until(() => stream.lastEventId !== '');
    return stream;
  };
  const sent = async (): Promise<string[]> => {
    const rows = await app.sql<{ name: string }>(
      `SELECT body::json ->> 'name' AS name FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
     WHERE webhook_id = $1 ORDER BY event_id`,
      [webhook],
    );
    return rows.map(({ name }) => name);
  };
  const seen = ({ events }: EventReader): string[] => events.map(({ data }) => nameOf(data));

  it('a replica that does not know a topic leaves it, and what follows, to one that does', async () => {
    const stream = await follow(app.port!);
    await publish(['deposit.confirmed', 'before'], [NEW_TOPIC, 'goal'], ['deposit.confirmed', 'after']);
    await until(async () => seen(stream).length > 0 && old.length > 0 && (await sent()).length > 0);
    const places = async (): Promise<string[]> => {
      const names = ['test.goals', 'webhooks'];
      return Promise.all(names.map(async (name) => cursorText(await storedCursor(app, name))));
    };
    const before = old[0].id;
    await until(async () => (await places()).every((place) => place === before));
    await publish(['deposit.confirmed', 'later']);
    let looks = 0;
    const note = (call: unknown): void =>
      void (looks += Number((call as { name: string }).name === 'due_outbox_consumer'));
    subscribe('tracing:database:statement:start', note);
    await until(() => looks >= 4);
    unsubscribe('tracing:database:statement:start', note);
    expect([old.map(nameOf), await sent(), seen(stream)]).toEqual([['before'], ['before'], ['before']]);
    expect(lines.filter((line) => line.includes('to a newer version'))).toHaveLength(3);
    const replica = await start();
    await until(async () => next.length === 3 && (await sent()).length === 4);
    expect(next.map(nameOf)).toEqual(['goal', 'after', 'later']);
    expect(await sent()).toEqual(['before', 'goal', 'after', 'later']);
    expect(old).toHaveLength(1);
    // The client's place is still before the event; it comes to the new replica with it.
    stream.close();
    await replica.listen(0, '127.0.0.1');
    const { port } = replica.getHttpServer().address() as AddressInfo;
    expect(stream.lastEventId).toBe(before);
    const again = await follow(port, stream.lastEventId);
    await until(() => again.events.length === 3);
    expect(seen(again)).toEqual(['goal', 'after', 'later']);
    expect(again.events[0].event).toBe(NEW_TOPIC);
  });

  it('the old one goes on behind what the newer one took, and both share what both know', async () => {
    await start();
    await publish([NEW_TOPIC, 'first goal'], ['deposit.confirmed', 'paid'], [NEW_TOPIC, 'second goal']);
    await until(() => next.some((event) => nameOf(event) === 'second goal'));
    await until(async () => (await sent()).length === 3);
    await replicas.pop()!.close();
    await publish(['deposit.confirmed', 'alone']);
    await until(() => old.some((event) => nameOf(event) === 'alone'));
    expect([...old, ...next].map(nameOf).sort()).toEqual(['alone', 'first goal', 'paid', 'second goal']);
    await until(async () => (await sent()).length === 4);
  });
});
