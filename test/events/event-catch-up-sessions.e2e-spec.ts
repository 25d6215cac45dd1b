import { SessionFeed } from '#features/access/session-feed';
import { Sessions } from '#features/access/sessions';
import { type SignedIn, until, useApp } from '../support/app';
import type { EventReader } from '../support/events/event-source';
import { readable } from '../support/events/outbox';
import { SecondProcess, fill, namesOf, tell } from '../support/processes/second-process';

const app = useApp();
let user: SignedIn;
let other: SignedIn;
let pool: string;
const fresh = new SecondProcess(app, () => other);

beforeAll(async () => {
  [user, other] = [await app.signIn(), await app.signIn()];
  ({ id: pool } = (await app.createPool(user, { members: [other.address] })) as { id: string });
});

/** Sessions are swept only when something is to be sent. */
function withoutSweeps(): void {
  jest.restoreAllMocks();
  const every = setInterval;
  jest.spyOn(global, 'setInterval').mockImplementation(() => every(() => undefined, 3_600_000));
}

describe('a stream that comes back is no way around', () => {
  /** A stream whose next step has been asked for, and waits. */
  async function inTheMiddle(who: SignedIn): Promise<{ reader: EventReader; go: () => void }> {
    const place = await fresh.here();
    await tell(app, pool, 'missed');
    const go = fresh.record('readers_of_pools');
    const reader = await fresh.follow(who, place);
    await until(() => fresh.callsOf('readers_of_pools').length > 0);
    return { reader, go };
  }

  it('the end of its session', async () => {
    const leaving = await app.signIn(user.wallet);
    const { reader, go } = await inTheMiddle(leaving);
    await app.post('/auth/logout', undefined, leaving);
    await until(() => reader.ended);
    go();
    expect(namesOf(reader)).toEqual([]);
  });

  it('the end of its token', async () => {
    withoutSweeps();
    const { reader, go } = await inTheMiddle(user);
    jest.spyOn(SessionFeed.prototype, 'fresh', 'get').mockReturnValue(true);
    const { exp } = JSON.parse(Buffer.from(user.token.split('.')[1], 'base64url').toString()) as {
      exp: number;
    };
    jest.spyOn(Date, 'now').mockReturnValue(exp * 1000);
    go();
    await until(() => reader.ended);
    expect(namesOf(reader)).toEqual([]);
  });

  it('a session that may have ended unseen', async () => {
    const { reader, go } = await inTheMiddle(user);
    let isFresh = false;
    const asked = jest.spyOn(Sessions.prototype, 'isFresh', 'get').mockImplementation(() => isFresh);
    const live = await fresh.follow(other);
    await tell(app, pool, 'new');
    go();
    asked.mockClear();
    await until(() => asked.mock.calls.length > 20);
    expect([reader.events, live.events]).toEqual([[], []]);
    isFresh = true;
    await until(() => reader.events.length === 2 && live.events.length === 1);
    expect([namesOf(reader), namesOf(live)]).toEqual([['missed', 'new'], ['new']]);
  });

  it('the end of a membership', async () => {
    const { id } = (await app.createPool(other, { members: [user.address] })) as { id: string };
    const place = await fresh.here();
    await fill(app, 1, 3, id);
    await tell(app, pool, 'mine');
    const go = fresh.record('readers_of_pools');
    const reader = await fresh.follow(user, place);
    await until(() => fresh.callsOf('readers_of_pools').length > 0);
    await app.send({ method: 'DELETE', url: `/pools/${id}/membership`, as: user });
    go();
    await until(() => reader.events.length > 0);
    expect(namesOf(reader)).toEqual(['mine']);
  });
});

it('a session that may have ended while nobody knew gets not even the next event', async () => {
  withoutSweeps();
  const readers = [await fresh.follow(user), await fresh.follow(other)];
  await readable(app);
  // As when the feed answers again after a gap.
  fresh.nest.get(SessionFeed, { strict: false }).term++;
  await tell(app, pool, 'new');
  await until(() => readers.every(({ ended }) => ended));
  expect(readers.map(namesOf)).toEqual([[], []]);
});

it('a session that ends while its stream opens, before it is watched, gets nothing', async () => {
  const leaving = await app.signIn(user.wallet);
  const go = fresh.record('open_event_stream');
  const opening = fresh.follow(leaving);
  await until(() => fresh.callsOf('open_event_stream').length > 0);
  const sessions = fresh.nest.get<Sessions, Record<'forget', () => void>>(Sessions, { strict: false });
  const told = jest.spyOn(sessions, 'forget');
  await app.post('/auth/logout', undefined, leaving);
  await until(() => told.mock.calls.length > 0);
  go();
  const reader = await opening;
  await tell(app, pool, 'new');
  await until(() => reader.ended);
  expect(namesOf(reader)).toEqual([]);
});
