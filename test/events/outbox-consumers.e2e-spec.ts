import { randomUUID } from 'node:crypto';
import { Database } from '#platform/database/database';
import { BEGINNING } from '#ledger/outbox/ledger-event';
import { ADD_CONSUMER, MOVE_CONSUMER } from '#ledger/outbox/outbox.sql';
import { useApp } from '../support/app';
import { emptyOutbox, hold, publish, readBehind, storedCursor } from '../support/events/outbox';

const app = useApp();
let database: Database;
const LEASE = { seconds: 15, failures: 0, wait: 0 };

beforeAll(() => (database = app.nest.get(Database)));
beforeEach(() => emptyOutbox(app));

describe('a renewal that comes late', () => {
  it('changes nothing for the holder that came after, nor when that one has let go', async () => {
    await publish(app, 'a', 'b', 'c');
    const { places } = await readBehind(app, BEGINNING);
    const [slow, next] = [randomUUID(), randomUUID()];
    const name = 'contested';
    await database.write(ADD_CONSUMER, { name, fromNow: false });
    expect(await hold(app, name, slow)).toBeDefined();
    expect(await hold(app, name, next)).toBeUndefined();
    await app.sql(`UPDATE outbox_consumers SET held_until = '-infinity' WHERE name = $1`, [name]);
    expect(await hold(app, name, next)).toBeDefined();
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
    expect(await storedCursor(app, name)).toEqual(places[2]);
  });
});

it('a hold is extended by its holder', async () => {
  const [name, holder] = ['busy', randomUUID()];
  await database.write(ADD_CONSUMER, { name, fromNow: false });
  await hold(app, name, holder);
  await app.sql(`UPDATE outbox_consumers SET held_until = '-infinity' WHERE name = $1`, [name]);
  await database.write(MOVE_CONSUMER, { name, holder, ...BEGINNING, ...LEASE });
  expect(await hold(app, name, randomUUID())).toBeUndefined();
});
