import { randomUUID } from 'node:crypto';
import { Database } from '../src/database/database';
import { EventHub } from '../src/events/event-hub';
import { BEGINNING, type Cursor, cursorText } from '../src/outbox/ledger-event';
import { ADD_CONSUMER, HOLD_CONSUMER, MOVE_CONSUMER, READ_OUTBOX } from '../src/outbox/outbox.sql';
import { useApp } from './support/app';

const app = useApp();
let database: Database;
const ALL = { rows: 1000, events: 1_000_000 };
const LEASE = { seconds: 15, failures: 0, wait: 0 };

beforeAll(() => (database = app.nest.get(Database)));
beforeEach(async () => {
  await app.sql('DELETE FROM outbox');
  await app.sql('DELETE FROM outbox_consumers');
  await app.sql(`UPDATE outbox_removed SET xid = '0', position = 0`);
});

const publish = (...names: string[]): Promise<unknown> =>
  app.sql('INSERT INTO outbox (count, items) VALUES ($1, $2)', [
    names.length,
    JSON.stringify(names.map((transactionId) => ({ topic: 'deposit.confirmed', transactionId }))),
  ]);
/** What a reader gets behind the cursor, and where it is then. */
async function read(from: Cursor): Promise<{ seen: string[]; places: Cursor[] }> {
  const rows = await database.readAll(READ_OUTBOX, { ...from, ...ALL });
  const events = rows.flatMap(({ xid, position, items }) =>
    items.map((item, n) => ({
      name: (item as unknown as { transactionId: string }).transactionId,
      place: { xid, position: Number(position), item: n + 1 },
    })),
  );
  const left = events.filter(({ place }) => cursorText(place) > cursorText(from));
  return { seen: left.map(({ name }) => name), places: left.map(({ place }) => place) };
}
const hold = (name: string, holder: string): Promise<object | undefined> =>
  database.write(HOLD_CONSUMER, { name, holder, seconds: 15 });
const stored = async (name: string): Promise<Cursor> => {
  const [row] = await app.sql<Cursor>(
    'SELECT xid::text, position::int, item FROM outbox_consumers WHERE name = $1',
    [name],
  );
  return row;
};

describe('after a dump was restored into a server that counts its transactions anew', () => {
  /** As if all of it came from a server that had run for long. */
  const age = async (): Promise<void> => {
    for (const table of ['outbox', 'outbox_consumers', 'outbox_removed'])
      await app.sql(`UPDATE ${table} SET xid = (xid::text::bigint + 1000000000)::text::xid8`);
  };
  const consumerAt = async (name: string, cursor: Cursor): Promise<void> => {
    const holder = randomUUID();
    await database.write(ADD_CONSUMER, { name, fromNow: false });
    await hold(name, holder);
    await database.write(MOVE_CONSUMER, { name, holder, ...cursor, ...LEASE, seconds: 0 });
  };

  it('consumers get what they had not handled, once, and then what is new', async () => {
    await publish('a', 'b', 'c');
    await publish('d');
    const { places } = await read(BEGINNING);
    await consumerAt('within', places[1]);
    await consumerAt('between', places[2]);
    await consumerAt('done', places[3]);
    await consumerAt('first', BEGINNING);
    await app.sql('DELETE FROM outbox WHERE count = 1');
    await publish('e', 'f');
    await age();
    await app.sql('SELECT renumber_outbox()');
    await publish('new');
    const seen = async (name: string): Promise<string[]> => (await read(await stored(name))).seen;
    expect(await seen('within')).toEqual(['c', 'e', 'f', 'new']);
    expect(await seen('between')).toEqual(['e', 'f', 'new']);
    // Where the row of its last event is kept no more.
    expect(await seen('done')).toEqual(['e', 'f', 'new']);
    expect(await seen('first')).toEqual(['a', 'b', 'c', 'e', 'f', 'new']);
    for (const name of ['within', 'between', 'done', 'first'])
      expect(await hold(name, randomUUID())).toMatchObject({ missed: false });
  });

  it('those that had missed events are still told so', async () => {
    await publish('a');
    await consumerAt('late', BEGINNING);
    const { places } = await read(BEGINNING);
    await app.sql('UPDATE outbox_removed SET xid = $1::text::xid8, position = $2', [
      places[0].xid,
      places[0].position,
    ]);
    await app.sql('DELETE FROM outbox');
    await age();
    await app.sql('SELECT renumber_outbox()');
    expect(await hold('late', randomUUID())).toMatchObject({ missed: true });
  });

  it('streams reload, and those that are opened then resume', async () => {
    await publish('a');
    const { places } = await read(BEGINNING);
    await age();
    await app.sql('SELECT renumber_outbox()');
    const hub = app.nest.get(EventHub, { strict: false });
    const old = { ...places[0], xid: String(BigInt(places[0].xid) + 1_000_000_000n) };
    for (const cursor of [old, places[0]])
      expect(await hub.locate(cursorText(cursor))).toMatchObject({ isGap: true });
    const { cursor } = await hub.locate(undefined);
    expect(await hub.locate(cursor)).toEqual({ cursor, isGap: false });
  });

  it('nothing changes where the ids go on', async () => {
    await publish('a');
    const { places } = await read(BEGINNING);
    await consumerAt('reader', places[0]);
    await app.sql('SELECT renumber_outbox()');
    expect(await stored('reader')).toEqual(places[0]);
    expect((await read(BEGINNING)).places).toEqual(places);
    const hub = app.nest.get(EventHub, { strict: false });
    expect(await hub.locate(cursorText(places[0]))).toMatchObject({ isGap: false });
  });
});

describe('a renewal that comes late', () => {
  it('changes nothing for the holder that came after, nor when that one has let go', async () => {
    await publish('a', 'b', 'c');
    const { places } = await read(BEGINNING);
    const [slow, next] = [randomUUID(), randomUUID()];
    const name = 'contested';
    await database.write(ADD_CONSUMER, { name, fromNow: false });
    expect(await hold(name, slow)).toBeDefined();
    expect(await hold(name, next)).toBeUndefined();
    await app.sql(`UPDATE outbox_consumers SET held_until = '-infinity' WHERE name = $1`, [name]);
    expect(await hold(name, next)).toBeDefined();
    const late = { name, holder: slow, ...places[0], ...LEASE };
    const state = (): Promise<unknown> => app.sql('SELECT * FROM outbox_consumers WHERE name = $1', [name]);
    await database.write(MOVE_CONSUMER, { name, holder: next, ...places[2], ...LEASE });
    const held = await state();
    expect(await database.write(MOVE_CONSUMER, late)).toBeUndefined();
    expect(await state()).toEqual(held);
    await database.write(MOVE_CONSUMER, { name, holder: next, ...places[2], ...LEASE, seconds: 0 });
    const free = await state();
    for (const holder of [slow, next])
      expect(await database.write(MOVE_CONSUMER, { ...late, holder })).toBeUndefined();
    expect(await state()).toEqual(free);
    expect(await stored(name)).toEqual(places[2]);
  });
});
