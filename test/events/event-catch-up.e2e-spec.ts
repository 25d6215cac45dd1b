import { cursorText } from '#ledger/outbox/ledger-event';
import { MOST_READ, MOST_SENT } from '#extensions/events/catch-ups';
import { Sessions } from '#features/access/sessions';
import { EventHub } from '#extensions/events/event-hub';
import { type SignedIn, until, useApp } from '../support/app';
import { SecondProcess, fill, namesOf, tell } from '../support/processes/second-process';
import { connectTo } from '../support/database';

const app = useApp();
let user: SignedIn;
let other: SignedIn;
let pool: string;
const fresh = new SecondProcess(app, () => other);
/** So that no step is thrown away because a busy machine tells late which sessions have ended. */
beforeEach(() => void jest.spyOn(Sessions.prototype, 'isFresh', 'get').mockReturnValue(true));

beforeAll(async () => {
  [user, other] = [await app.signIn(), await app.signIn()];
  ({ id: pool } = (await app.createPool(user, { members: [other.address] })) as { id: string });
});

describe('the first stream of a process', () => {
  it('from long ago keeps nobody behind, though it is slow to catch up', async () => {
    const place = await fresh.here();
    await fill(app, 10, 1000);
    await tell(app, pool, 'missed');
    const go = fresh.hold('catch_up_events');
    const hub = fresh.nest.get<EventHub, Record<'readEvents', (after: string) => unknown>>(EventHub, {
      strict: false,
    });
    const readEvents = jest.spyOn(hub, 'readEvents');
    const old = await fresh.follow(user, place);
    const live = await fresh.follow(other);
    const present = live.lastEventId;
    await until(() => fresh.callsOf('catch_up_events').length > 0);
    await tell(app, pool, 'new');
    await until(() => live.events.length === 1);
    expect([namesOf(live), namesOf(old)]).toEqual([['new'], []]);
    // What all streams share was read from the present on, so nobody waited for the rest.
    const cursors = new Set(readEvents.mock.calls.map(([after]) => after));
    expect([...cursors]).toEqual(expect.arrayContaining([present]));
    expect([...cursors].filter((cursor) => cursor < present)).toEqual([]);
    go();
    await until(() => old.events.length === 2);
    expect(namesOf(old)).toEqual(['missed', 'new']);
    await tell(app, pool, 'newer');
    await until(() => old.events.length === 3 && live.events.length === 2);
    expect([namesOf(old), namesOf(live)]).toEqual([
      ['missed', 'new', 'newer'],
      ['new', 'newer'],
    ]);
  });

  it('with a forged id takes no events from others, nor from itself', async () => {
    await tell(app, pool, 'before');
    // While this transaction writes, nothing that is newer can be read: the horizon stands still.
    const { go, xid } = await freeze();
    const at = (ahead: bigint, position: number, item: number): string =>
      cursorText({ xid: `${xid + ahead}`, position, item });
    const forged = [at(0n, 0, 1), at(0n, 1, 0), at(0n, 2 ** 47, 1), at(1n, 0, 0), at(1_000_000n, 0, 0)];
    forged.push(`${'f'.repeat(12)}-${'f'.repeat(12)}-ffff`, 'x', at(0n, 1, 0).toUpperCase());
    for (const id of forged) {
      const forger = await fresh.follow(user, id);
      const honest = await fresh.follow(other);
      await until(() => forger.events.length === 1);
      expect([id, namesOf(forger), forger.lastEventId]).toEqual([id, ['reload'], honest.lastEventId]);
      expect(honest.lastEventId < at(0n, 0, 1)).toBe(true);
      if (id !== forged.at(-1)) for (const reader of [forger, honest]) reader.close();
      await until(() => forger.ended === honest.ended);
    }
    await go();
    await tell(app, pool, 'a', 'b');
    const [forger, honest] = fresh.open.slice(-2);
    await until(() => forger.events.length === 3 && honest.events.length === 2);
    expect([namesOf(forger), namesOf(honest)]).toEqual([
      ['reload', 'a', 'b'],
      ['a', 'b'],
    ]);
  });

  it('that names a place within what happened goes on from there, however it was made', async () => {
    const place = await fresh.here();
    await tell(app, pool, 'first', 'second');
    const reader = await fresh.follow(user, place);
    await until(() => reader.events.length === 2);
    const [row] = reader.events[0].id.match(/^.{26}/)!;
    for (const item of ['0002', 'ffff']) {
      const beyond = await fresh.follow(user, `${row}${item}`);
      await until(() => beyond.events.length === 1);
      expect(namesOf(beyond)).toEqual(['second']);
      beyond.close();
    }
    // In a row of two events, the cursor after the first one is within the row.
    const between = await fresh.here();
    await fill(app, 1, 2, pool);
    const whole = await fresh.follow(user, between);
    await until(() => whole.events.length === 2);
    const rest = await fresh.follow(user, whole.events[0].id);
    await until(() => rest.events.length > 0);
    expect(namesOf(rest)).toEqual(['1.2']);
  });
});

/** A transaction that has an id, and keeps newer ones from readers until it ends. */
async function freeze(): Promise<{ xid: bigint; go: () => Promise<void> }> {
  const client = await connectTo(app.database.url);
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  // Older ones, of other databases, may still run.
  let xid = 0n;
  await until(async () => {
    const { rows } = await client.query<{ own: string; oldest: string }>(
      'SELECT pg_current_xact_id()::text AS own, pg_snapshot_xmin(pg_current_snapshot())::text AS oldest',
    );
    xid = BigInt(rows[0].own);
    return rows[0].own === rows[0].oldest;
  });
  const go = async (): Promise<void> => {
    await client.query('COMMIT');
    await client.end();
  };
  return { xid, go };
}

describe('who catches up', () => {
  it('gets all that is his within the bound, in few steps, and nothing of others is sent to this process', async () => {
    const place = await fresh.here();
    await fill(app, MOST_READ / 1000 - 1, 1000);
    await tell(app, pool, 'mine');
    fresh.record();
    const reader = await fresh.follow(user, place);
    await until(() => reader.events.length === 1);
    expect(namesOf(reader)).toEqual(['mine']);
    const steps = fresh.callsOf('catch_up_events').length;
    expect([steps <= MOST_READ / 1000 + 1, fresh.callsOf('is_event_stream_near').length]).toEqual([true, 1]);
  });

  it('is told to reload at once if more has happened, at the cost of one count', async () => {
    const place = await fresh.here();
    await fill(app, MOST_READ / 1000, 1000);
    await tell(app, pool, 'mine');
    fresh.record();
    const reader = await fresh.follow(user, place);
    await until(() => reader.events.length === 1);
    expect(namesOf(reader)).toEqual(['reload']);
    expect(reader.lastEventId > place).toBe(true);
    expect(fresh.callsOf('catch_up_events')).toEqual([]);
    await tell(app, pool, 'new');
    await until(() => reader.events.length === 2);
    reader.close();
    // Its place is a good one.
    const again = await fresh.follow(user, reader.lastEventId);
    await tell(app, pool, 'newer');
    await until(() => again.events.length === 1);
    expect([namesOf(reader), namesOf(again)]).toEqual([['reload', 'new'], ['newer']]);
  });

  it('is told to reload if more than so many events are his', async () => {
    const place = await fresh.here();
    await fill(app, MOST_SENT + 1, 1, pool);
    const reader = await fresh.follow(user, place);
    await until(() => namesOf(reader).includes('reload'));
    expect(reader.events.length).toBeLessThanOrEqual(MOST_SENT + 1);
    await tell(app, pool, 'new');
    await until(() => namesOf(reader).includes('new'));
    expect(namesOf(reader).slice(-2)).toEqual(['reload', 'new']);
  });

  it('reads one step at a time, however many streams he opens, and others have their turn', async () => {
    const place = await fresh.here();
    await tell(app, pool, 'missed');
    const go = fresh.hold('catch_up_events');
    for (let i = 0; i < 3; i++) await fresh.follow(user, place);
    await fresh.follow(other, place);
    await until(() => fresh.callsOf('catch_up_events').length === 2);
    const addresses = fresh.callsOf('catch_up_events').map(({ values }) => values.address);
    expect(addresses).toEqual([user.address, other.address]);
    go();
    const four = fresh.open.slice(-4);
    await until(() => four.every(({ events }) => events.length === 1));
    expect(four.map(namesOf)).toEqual(Array(4).fill(['missed']));
  });
});
