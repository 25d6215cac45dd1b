import { randomUUID } from 'node:crypto';
import { Database } from '../src/database/database';
import { BEGINNING, type Cursor, cursorText } from '../src/outbox/ledger-event';
import { ADD_CONSUMER, HOLD_CONSUMER, MOVE_CONSUMER, READ_OUTBOX } from '../src/outbox/outbox.sql';
import { useApp } from './support/app';
import { readable } from './support/outbox';

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

const publish = async (...names: string[]): Promise<void> => {
  await app.sql('INSERT INTO outbox (count, items) VALUES ($1, $2)', [
    names.length,
    JSON.stringify(names.map((transactionId) => ({ topic: 'deposit.confirmed', transactionId }))),
  ]);
  await readable(app);
};
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
