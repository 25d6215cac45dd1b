import { Database } from '#platform/database/database';
import type { Statement } from '#platform/postgres/statement';
import { DatabaseUnavailable } from '#platform/postgres/unavailable';
import { cursorText } from '#ledger/outbox/ledger-event';
import { Sessions } from '#features/access/sessions';
import { MOST_MISSED } from '#extensions/events/event-hub';
import { type SignedIn, until, useApp } from '../support/app';
import { SecondProcess, fill, namesOf, tell } from '../support/processes/second-process';

const app = useApp();
let user: SignedIn;
let other: SignedIn;
let pool: string;
const fresh = new SecondProcess(app, () => other);
/** So that nothing is read again because a busy machine learns late which sessions have ended. */
beforeEach(() => void jest.spyOn(Sessions.prototype, 'isFresh', 'get').mockReturnValue(true));

beforeAll(async () => {
  [user, other] = [await app.signIn(), await app.signIn()];
  ({ id: pool } = (await app.createPool(user, { members: [other.address] })) as { id: string });
});

describe('the first stream of a process', () => {
  it('from long ago keeps nobody behind, and later ones get what it had read', async () => {
    const place = await fresh.here();
    await fill(app, 4, 1000);
    await tell(app, pool, 'missed');
    fresh.record();
    const old = await fresh.follow(user, place);
    const live = await fresh.follow(other);
    await tell(app, pool, 'new');
    await until(() => old.events.length === 2 && live.events.length === 1);
    expect([namesOf(old), namesOf(live)]).toEqual([['missed', 'new'], ['new']]);
    // Without those of consumers.
    const reads = (): unknown[] =>
      fresh
        .callsOf('read_outbox')
        .filter(({ values }) => !('failures' in values) && cursorText(values) < live.events[0].id);
    const before = reads().length;
    const again = await fresh.follow(user, place);
    await until(() => again.events.length === 2);
    expect(namesOf(again)).toEqual(['missed', 'new']);
    expect(reads()).toHaveLength(before);
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
    // As the start page of version 1 gave it.
    const longer = await fresh.follow(user, `${place}~2f1.1a`);
    await until(() => longer.events.length === 2);
    expect(namesOf(longer)).toEqual(['first', 'second']);
    longer.close();
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
async function freeze(): Promise<{ xid: bigint; go: () => Promise<unknown> }> {
  const client = await app.connect();
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
  const go = (): Promise<unknown> => client.query('COMMIT');
  return { xid, go };
}

describe('who catches up', () => {
  it('gets everything within the bound, and reload beyond it', async () => {
    const place = await fresh.here();
    await fill(app, MOST_MISSED / 1000 - 1, 1000);
    await tell(app, pool, 'mine');
    const near = await fresh.follow(user, place);
    await until(() => near.events.length === 1);
    expect(namesOf(near)).toEqual(['mine']);
    await fill(app, 1, 1000);
    fresh.record();
    const far = await fresh.follow(user, place);
    await until(() => far.events.length === 1);
    expect(namesOf(far)).toEqual(['reload']);
    expect(far.lastEventId > near.events[0].id).toBe(true);
    await tell(app, pool, 'new');
    await until(() => far.events.length === 2);
    far.close();
    // Its place is a good one.
    const again = await fresh.follow(user, far.lastEventId);
    await tell(app, pool, 'newer');
    await until(() => again.events.length === 1);
    expect([namesOf(far), namesOf(again)]).toEqual([['reload', 'new'], ['newer']]);
  });

  it('shares one reading with all that come back while it lasts, even if new events follow', async () => {
    const place = await fresh.here();
    await fill(app, 2, 1000);
    await tell(app, pool, 'missed');
    const go = fresh.record('readers_of_pools');
    const readers = [await fresh.follow(user, place)];
    await until(() => fresh.callsOf('readers_of_pools').length === 1);
    for (const who of [user, user, other]) readers.push(await fresh.follow(who, place));
    const end = await fresh.here();
    await tell(app, pool, 'new');
    const reads = (): string[] =>
      fresh
        .callsOf('read_outbox')
        .filter(({ values }) => !('failures' in values))
        .map(({ values }) => cursorText(values));
    await until(() => reads().at(-1)! > end);
    expect(fresh.callsOf('readers_of_pools')).toHaveLength(1);
    go();
    await until(() => readers.every(({ events }) => events.length === 2));
    expect(readers.map(namesOf)).toEqual(Array(4).fill(['missed', 'new']));
    // One for what the first stream gets alone, and one for all that the four miss then.
    expect(fresh.callsOf('readers_of_pools')).toHaveLength(2);
    expect(reads().filter((cursor) => cursor === place)).toHaveLength(1);
  });

  it('stays connected, as live streams do, and gets everything once its readers can be read again', async () => {
    const place = await fresh.here();
    await tell(app, pool, 'missed');
    const live = await fresh.follow(other);
    const database = fresh.nest.get(Database);
    const readAll = database.readAll.bind(database) as (...given: unknown[]) => Promise<unknown[]>;
    let failures = 0;
    const fail = async (statement: Statement, values: unknown): Promise<unknown[]> => {
      if (statement.name !== 'readers_of_pools') return readAll(statement, values);
      failures += 1;
      throw new DatabaseUnavailable('too many slow reads are waiting');
    };
    const read = jest.spyOn(database, 'readAll').mockImplementation(fail as never);
    const back = await fresh.follow(user, place);
    await tell(app, pool, 'new');
    await until(() => failures >= 4);
    read.mockRestore();
    await until(() => live.events.length === 1 && back.events.length === 2);
    expect([namesOf(live), namesOf(back)]).toEqual([['new'], ['missed', 'new']]);
    expect([live.ended, back.ended]).toEqual([false, false]);
  });

  it('gets reload instead of more than a stream may buffer', async () => {
    const place = await fresh.here();
    await fill(app, 2, 1000, pool);
    const reader = await fresh.follow(user, place);
    await until(() => reader.events.length > 0);
    await tell(app, pool, 'new');
    await until(() => reader.events.length === 2);
    expect(namesOf(reader)).toEqual(['reload', 'new']);
  });

  it('gets reload if this version does not know an event, unlike those that resume after it', async () => {
    const place = await fresh.here();
    await app.sql(`INSERT INTO outbox (count, items) VALUES (1, '[{"topic": "goal.reached"}]')`);
    const after = await fresh.here();
    await tell(app, pool, 'missed');
    const live = await fresh.follow(other);
    const go = fresh.record('readers_of_pools');
    const first = await fresh.follow(user, after);
    await until(() => fresh.callsOf('readers_of_pools').length > 0);
    // These two are served together.
    const [reader, second] = [await fresh.follow(user, place), await fresh.follow(user, after)];
    go();
    await until(() => [first, reader, second].every(({ events }) => events.length > 0));
    await tell(app, pool, 'new');
    await until(() => [first, reader, second].every(({ events }) => events.length === 2));
    expect([reader, first, second, live].map(namesOf)).toEqual([
      ['reload', 'new'],
      ['missed', 'new'],
      ['missed', 'new'],
      ['new'],
    ]);
  });
});
