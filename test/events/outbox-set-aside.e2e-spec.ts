import { Injectable, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pino from 'pino';
import { DatabaseUnavailable } from '#platform/postgres/unavailable';
import { SetAsideRule } from '#ledger/outbox/delivery';
import type { LedgerEvent } from '#ledger/outbox/ledger-event';
import { OnLedgerEvent } from '#ledger/outbox/on-ledger-event';
import { OutboxConsumers } from '#ledger/outbox/outbox-consumers';
import { createApp } from '#api/app.setup';
import { settings, until, useApp } from '../support/app';
import { publish } from '../support/events/outbox';

/** What a handler is given, call by call, by the names of events, and what it does with them. */
interface Told {
  calls: string[][];
  answer: (names: string[]) => unknown;
}
const patient: Told = { calls: [], answer: () => undefined };
const asking: Told = { calls: [], answer: () => undefined };
const namesOf = (events: LedgerEvent[]): string[] =>
  events.map((event) => (event as { transactionId: string }).transactionId);
const tell = (told: Told, events: LedgerEvent[]): unknown => {
  const names = namesOf(events);
  told.calls.push(names);
  return told.answer(names);
};

@Injectable()
class Handlers {
  @OnLedgerEvent('deposit.confirmed', { consumer: 'test.patient', most: 1000 })
  patient(events: LedgerEvent[]): unknown {
    return tell(patient, events);
  }

  @OnLedgerEvent('deposit.confirmed', { consumer: 'test.asking', setsAside: true, most: 50 })
  async asking(events: LedgerEvent[]): Promise<void> {
    await tell(asking, events);
  }
}

@Module({ providers: [Handlers] })
class HandlersModule {}

const lines: string[] = [];
const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
const app = useApp({}, { modules: [HandlersModule], logger });
const replicas: NestFastifyApplication[] = [];

const consumers = [patient, asking];
const poison =
  (bad: string, error = new Error('not this one')) =>
  (names: string[]): void => {
    if (names.includes(bad)) throw error;
  };
const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
/** Events of calls that did not throw, in their order. */
const handled = ({ calls, answer }: Told): string[] =>
  calls.flatMap((call) => {
    try {
      answer(call);
      return call;
    } catch {
      return [];
    }
  });
/** Nobody waits between tries. */
const hurried = (what: () => boolean | Promise<boolean>): Promise<void> =>
  until(async () => {
    await app.sql('UPDATE outbox_consumers SET retry_at = now() WHERE retry_at > now()');
    return what();
  });
const setAside = (): Promise<{ id: string; name: string; error: string; again: boolean }[]> =>
  app.sql(`SELECT event_id AS id, event ->> 'transactionId' AS name, error, again FROM outbox_set_aside`);
const free = (): Promise<void> =>
  hurried(async () => {
    const rows = await app.sql(`
      SELECT FROM outbox_consumers c WHERE name LIKE 'test.%' AND (held_until > now() OR failures > 0
        OR (SELECT (xid, position, count) FROM outbox ORDER BY xid DESC, position DESC LIMIT 1) > (c.xid, c.position, c.item))`);
    return rows.length === 0;
  });

beforeAll(async () => {
  const known = `SELECT FROM outbox_consumers WHERE name LIKE 'test.%'`;
  await until(async () => (await app.sql(known)).length === 2);
});
afterEach(async () => {
  for (const told of consumers) told.answer = () => undefined;
  await free();
  for (const replica of replicas.splice(0)) await replica.close();
  for (const told of consumers) told.calls.length = 0;
  lines.length = 0;
  await app.sql('DELETE FROM outbox_set_aside');
});

describe('a batch with an event that fails', () => {
  it('comes again event by event: what is before the one that fails is handled, and that alone is tried again', async () => {
    const all = names('a', 300);
    patient.answer = poison('a-170');
    await publish(app, ...all);
    await hurried(() => patient.calls.filter((call) => call.join() === 'a-170').length >= 3);
    expect(handled(patient)).toEqual(all.slice(0, 170));
    expect(patient.calls.filter((call) => call.includes('a-170')).map(({ length }) => length)).toEqual([
      300,
      ...patient.calls.slice(171).map(() => 1),
    ]);
    patient.answer = () => undefined;
    await hurried(() => patient.calls.at(-1)!.at(-1) === 'a-299');
    // Then as many as before.
    expect(patient.calls.slice(-2)).toEqual([['a-170'], all.slice(171)]);
  });
});

describe('an event that fails again and again', () => {
  it('is set aside by consumers that ask for it, told, and handled again on request', async () => {
    asking.answer = poison('d-30');
    await publish(app, ...names('d', 60));
    await hurried(() => handled(asking).includes('d-59'));
    expect(handled(asking)).toEqual(names('d', 60).filter((name) => name !== 'd-30'));
    expect(asking.calls.filter((call) => call.join() === 'd-30')).toHaveLength(SetAsideRule.tries);
    const [{ id, ...row }] = await setAside();
    expect(row).toEqual({ name: 'd-30', error: 'not this one', again: false });
    expect(lines.filter((line) => line.includes(`test.asking dead-lettered event ${id}`))).toHaveLength(1);
    expect((await app.get('/metrics')).text).toContain('outbox_set_aside_total{consumer="test.asking"} 1');

    const again = (): Promise<unknown> =>
      app.sql('UPDATE outbox_set_aside SET again = true WHERE event_id = $1', [id]);
    asking.answer = poison('d-30', new Error('still not'));
    await again();
    await until(async () => (await setAside())[0].error === 'still not');
    expect(await setAside()).toEqual([{ id, name: 'd-30', error: 'still not', again: false }]);
    asking.answer = () => undefined;
    await again();
    await until(async () => (await setAside()).length === 0);
    expect(asking.calls.at(-1)).toEqual(['d-30']);
    // The other one still has it.
    expect(handled(patient)).toHaveLength(60);
  });

  it('is not set aside by others', async () => {
    patient.answer = poison('e-0');
    await publish(app, 'e-0', 'e-1');
    await hurried(() => patient.calls.length > SetAsideRule.tries + 3);
    expect(await setAside()).toEqual([]);
    expect(handled(patient)).toEqual([]);
  });

  it('is not set aside because the database is out, unless that takes long for it alone', async () => {
    asking.answer = poison('f-0', new DatabaseUnavailable('no answer'));
    await publish(app, 'f-0', 'f-1');
    const failures = async (): Promise<number> =>
      (
        await app.sql<{ failures: number }>(
          `SELECT failures FROM outbox_consumers WHERE name = 'test.asking'`,
        )
      )[0].failures;
    await hurried(async () => (await failures()) > SetAsideRule.tries + 2);
    expect(await setAside()).toEqual([]);
    await app.sql(
      `UPDATE outbox_consumers SET failing_since = failing_since - make_interval(secs => $1)
       WHERE name = 'test.asking'`,
      [SetAsideRule.unavailableSeconds],
    );
    await hurried(() => handled(asking).includes('f-1'));
    expect(await setAside()).toMatchObject([{ name: 'f-0', error: 'no answer' }]);
  });

  it('is kept for seven days', async () => {
    await app.sql(
      `INSERT INTO outbox_set_aside (consumer, event_id, event, error, created_at)
       SELECT 'test.asking', age, '{}', 'x', now() - age::interval
       FROM unnest(ARRAY['7 days 1 second', '6 days 23 hours']) age`,
    );
    await app.sweep('outbox_set_aside', 1);
    expect(await setAside()).toMatchObject([{ id: '6 days 23 hours' }]);
  });
});

/** Last, as the first process stops for good. */
it('a stop waits for one call, and stores the place after it', async () => {
  const all = names('c', 200);
  let release: () => void = () => undefined;
  const blocked = new Promise<void>((resolve) => (release = resolve));
  asking.answer = (call) => (call.includes('c-100') ? blocked : undefined);
  await publish(app, ...all);
  const stored = async (): Promise<number> =>
    (await app.sql<{ item: number }>(`SELECT item FROM outbox_consumers WHERE name = 'test.asking'`))[0].item;
  await until(() => asking.calls.flat().includes('c-100'));
  const { length } = asking.calls;
  const stopped = app.nest.get(OutboxConsumers, { strict: false }).onModuleDestroy();
  release();
  await stopped;
  expect([asking.calls.length, all[await stored()]]).toEqual([length, `c-${asking.calls.flat().length}`]);
  // Another process goes on there.
  const replica = await createApp(settings(app.database.url), logger, { modules: [HandlersModule] });
  replicas.push(replica);
  await replica.init();
  await until(() => asking.calls.flat().length >= 200);
  expect(asking.calls.flat()).toEqual(all);
});
