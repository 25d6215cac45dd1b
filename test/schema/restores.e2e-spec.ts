import { randomUUID } from 'node:crypto';
import { Database } from '#platform/database/database';
import { BEGINNING, type OutboxCursor, cursorText } from '#ledger/outbox/ledger-event';
import { ADD_CONSUMER, MOVE_CONSUMER } from '#ledger/outbox/outbox.sql';
import { EventHub } from '#extensions/events/event-hub';
import { type SignedIn, until, useApp } from '../support/app';
import { EventReader, holdSweeps } from '../support/events/event-source';
import { emptyOutbox, hold, publish, readBehind, readable, storedCursor } from '../support/events/outbox';
import { verify } from '../support/events/webhooks';
import { namesOf, tell } from '../support/processes/second-process';
import { siweMessage } from '../support/wallet';

/** What a restore of the database brings back, and what `after_restore` does about it. */
const app = useApp();
const afterRestore = (): Promise<unknown> => app.sql('SELECT after_restore()');

describe('events', () => {
  let database: Database;
  let hub: EventHub;

  beforeAll(() => {
    database = app.nest.get(Database);
    hub = app.nest.get(EventHub, { strict: false });
  });
  beforeEach(async () => {
    await emptyOutbox(app);
    await asFirst();
  });

  /** As in a server whose database was never restored. */
  async function asFirst(): Promise<void> {
    await app.sql(
      `CREATE OR REPLACE FUNCTION outbox_xid(xid8) RETURNS xid8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1'`,
    );
    await app.sql(`UPDATE outbox_removed SET era = '0'`);
  }

  const consumerAt = async (name: string, cursor: OutboxCursor): Promise<void> => {
    const holder = randomUUID();
    await database.write(ADD_CONSUMER, { name, fromNow: false });
    await hold(app, name, holder);
    const rest = { seconds: 0, failures: 0, wait: 0 };
    await database.write(MOVE_CONSUMER, { name, holder, ...cursor, ...rest });
  };
  const later = (cursor: OutboxCursor, transactions: bigint): OutboxCursor => ({
    ...cursor,
    xid: String(BigInt(cursor.xid) + transactions),
  });
  /** Rows as a server left them that had counted far more transactions. */
  const fromOldServer = async (): Promise<void> => {
    for (const table of ['outbox', 'outbox_consumers', 'outbox_removed'])
      await app.sql(`UPDATE ${table} SET xid = (xid::text::bigint + 1000000000)::text::xid8`);
  };

  it('a stream that saw what was taken back reloads, also when its id has passed again', async () => {
    await publish(app, 'kept');
    const { places } = await readBehind(app, BEGINNING);
    const lost = later(places[0], 20n);
    await afterRestore();
    for (let i = 0; i < 30; i++) await publish(app, `new ${i}`);
    for (const cursor of [lost, places[0]])
      expect(await hub.locate(cursorText(cursor))).toMatchObject({ isGap: true });
    const { names } = await readBehind(app, lost);
    expect(names).toHaveLength(30);
    const { cursor } = await hub.locate(undefined);
    expect(await hub.locate(cursor)).toEqual({ cursor, present: cursor, isGap: false });
    expect(cursor > cursorText(lost)).toBe(true);
  });

  it('open streams reload when a failover loses what they have seen, and miss nothing that comes', async () => {
    holdSweeps();
    const { wallet } = await app.signIn();
    // Ids go up here, and back again below, as on a standby that had not got so far.
    await afterRestore();
    const user = await app.signIn(wallet);
    const { id: poolId } = (await app.createPool(user)) as { id: string };
    await app.listen();
    const headers = { authorization: `Bearer ${user.token}` };
    await readable(app);
    const reader = await new EventReader().open(app.port!, '/events', headers);
    await until(() => reader.lastEventId !== '');
    await tell(app, poolId, 'lost');
    await until(() => reader.events.length === 1);
    await app.sql('DELETE FROM outbox');
    await asFirst();
    await until(() => reader.events.length === 2);
    expect(reader.lastEventId < reader.events[0].id).toBe(true);
    await tell(app, poolId, 'new');
    await until(() => reader.events.length === 3);
    expect(namesOf(reader)).toEqual(['lost', 'reload', 'new']);
    reader.close();
    await until(() => reader.ended);
    jest.restoreAllMocks();
  });

  it('a second restore, to an earlier moment, gives no id again either', async () => {
    await publish(app, 'kept');
    await afterRestore();
    const first = Math.floor(Date.now() / 1000);
    await publish(app, 'taken back');
    const lost = (await readBehind(app, BEGINNING)).places[1];
    await app.sql(`DELETE FROM outbox WHERE xid >= $1::text::xid8`, [lost.xid]);
    await asFirst();
    // In the same second nobody restores twice.
    await until(() => Date.now() / 1000 > first + 2);
    await afterRestore();
    await publish(app, 'new');
    const { names, places } = await readBehind(app, lost);
    expect(names).toEqual(['new']);
    expect(cursorText(places[0]) > cursorText(lost)).toBe(true);
    expect(await hub.locate(cursorText(lost))).toMatchObject({ isGap: true });
  });

  it.each([
    ['files keep transaction ids', async () => undefined],
    ['a dump in a server that counts its transactions from the start', fromOldServer],
  ])('consumers get what they had not handled, once, and then what is new: %s', async (_, age) => {
    await publish(app, 'a', 'b', 'c');
    await publish(app, 'd');
    const { places } = await readBehind(app, BEGINNING);
    await consumerAt('within', places[1]);
    await consumerAt('between', places[2]);
    await consumerAt('done', places[3]);
    await consumerAt('first', BEGINNING);
    await app.sql('DELETE FROM outbox WHERE count = 1');
    await publish(app, 'e', 'f');
    await age();
    await afterRestore();
    await publish(app, 'new');
    const seen = async (name: string): Promise<string[]> =>
      (await readBehind(app, await storedCursor(app, name))).names;
    expect(await seen('within')).toEqual(['c', 'e', 'f', 'new']);
    expect(await seen('between')).toEqual(['e', 'f', 'new']);
    // Where the row of its last event is kept no more.
    expect(await seen('done')).toEqual(['e', 'f', 'new']);
    expect(await seen('first')).toEqual(['a', 'b', 'c', 'e', 'f', 'new']);
    for (const name of ['within', 'between', 'done', 'first'])
      expect(await hold(app, name, randomUUID())).toMatchObject({ missed: false });
  });

  it('consumers that had missed events are still told so', async () => {
    await publish(app, 'a');
    await consumerAt('late', BEGINNING);
    const [{ xid, position }] = (await readBehind(app, BEGINNING)).places;
    await app.sql('UPDATE outbox_removed SET xid = $1::text::xid8, position = $2', [xid, position]);
    await app.sql('DELETE FROM outbox');
    await fromOldServer();
    await afterRestore();
    expect(await hold(app, 'late', randomUUID())).toMatchObject({ missed: true });
  });

  it('a process that held a consumer when the copy was made does not keep it', async () => {
    await consumerAt('held', BEGINNING);
    await hold(app, 'held', randomUUID());
    await afterRestore();
    expect(await hold(app, 'held', randomUUID())).toBeDefined();
  });

  it('a webhook that is made afterwards gets events from then on', async () => {
    const user = await app.signIn();
    await afterRestore();
    const { token } = await app.signIn(user.wallet);
    const made = await app.post('/webhooks', { url: 'https://example.org/hook' }, { token });
    expect(made.status).toBe(201);
    await verify(app, made.body.data.id as string);
    await publish(app, 'new');
    const [{ first }] = await app.sql<{ first: string }>('SELECT first_event AS first FROM webhooks');
    const [place] = (await readBehind(app, BEGINNING)).places;
    expect(cursorText(place) >= first).toBe(true);
    expect(BigInt(`0x${first}`)).toBeGreaterThan(65_536n * 1_700_000_000n);
  });
});

describe('sign-in', () => {
  /** The tables as they were before, put back by a restore. */
  const whileTakenBack = async (tables: string[], work: () => Promise<unknown>): Promise<void> => {
    for (const table of tables) await app.sql(`CREATE TABLE copy_of_${table} AS TABLE ${table}`);
    await work();
    for (const table of tables) {
      await app.sql(`DELETE FROM ${table}`);
      await app.sql(`INSERT INTO ${table} SELECT * FROM copy_of_${table}`);
      await app.sql(`DROP TABLE copy_of_${table}`);
    }
  };
  const status = async (as: { token: string }): Promise<number> => (await app.get('/auth/me', as)).status;
  const logout = (as: { token: string }, path: string): Promise<unknown> =>
    app.send({ method: 'POST', url: `/auth/${path}`, as });

  it('no token from before works, revoked or not, and the next sign-in does', async () => {
    const [user, other] = [await app.signIn(), await app.signIn()];
    const known = await status(other);
    let later: SignedIn;
    const [{ generation }] = await app.sql<{ generation: number }>(
      'SELECT session_generation AS generation FROM users WHERE id = $1',
      [user.user.id],
    );
    await whileTakenBack(['session_endings'], async () => {
      await logout(user, 'logout/all');
      later = await app.signIn(user.wallet);
      await logout(later, 'logout');
    });
    await app.sql('UPDATE users SET session_generation = $2 WHERE id = $1', [user.user.id, generation]);
    await afterRestore();
    expect(known).toBe(200);
    // Processes that know a session without asking learn it from the feed.
    await until(async () => (await status(other)) === 401);
    expect([await status(user), await status(later!)]).toEqual([401, 401]);
    expect(await status(await app.signIn(user.wallet))).toBe(200);
  });

  it('generations come from the clock, so a second restore, to an earlier moment, gives none again', async () => {
    const user = await app.signIn();
    const generation = async (): Promise<number> =>
      (
        await app.sql<{ generation: number }>(
          'SELECT session_generation AS generation FROM users WHERE id = $1',
          [user.user.id],
        )
      )[0].generation;
    await app.sql('UPDATE users SET session_generation = 0 WHERE id = $1', [user.user.id]);
    await afterRestore();
    const first = await generation();
    expect(first).toBeGreaterThanOrEqual(Math.floor(Date.now() / 60_000) - 1);
    await afterRestore();
    expect(await generation()).toBeGreaterThan(first);
  });

  it('a nonce that was used is not valid again', async () => {
    const user = await app.signIn();
    const nonce = await app.nonce();
    const message = siweMessage({ address: user.wallet.address, nonce });
    const signature = await user.wallet.signMessage({ message });
    const verify = async (): Promise<number> =>
      (await app.post('/auth/verify', { message, signature })).status;
    await whileTakenBack(['nonces'], async () => expect(await verify()).toBe(200));
    await afterRestore();
    expect(await verify()).toBe(401);
  });

  it('a ticket for a stream that was used is not valid again', async () => {
    const user = await app.signIn();
    const answer = await app.send({ method: 'POST', url: '/events/ticket', as: user });
    expect(answer.status).toBe(201);
    await afterRestore();
    expect(await app.sql('SELECT FROM event_tickets')).toEqual([]);
  });
});
