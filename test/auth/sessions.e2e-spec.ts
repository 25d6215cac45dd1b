import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { SessionFeed } from '#features/access/session-feed';
import { type SignedIn, jwt, until, useApp } from '../support/app';
import { holdTerms } from '../support/events/event-source';

const INVALID = [401, { success: false, error: 'Invalid token', code: 'token_revoked' }];
const ENDED = (ended: string): unknown => [
  200,
  { success: true, data: { ended, ...(ended === 'all' && { webhooks: [] }) } },
];

const forge = (claims: object): { token: string } => ({ token: jwt(claims) });

describe('a session', () => {
  const app = useApp();
  /** Checks every kind of endpoint, with and without a body and /api. */
  const isDead = async (as: { token: string }): Promise<void> => {
    for (const url of ['/auth/me', '/api/pools', '/transactions', '/analytics/user', '/lottery/winners']) {
      const answer = await app.get(url, as);
      expect([answer.status, answer.body]).toEqual(INVALID);
    }
    for (const url of ['/pools', '/auth/logout', '/api/auth/logout/all']) {
      const answer = await app.post(url, {}, as);
      expect([answer.status, answer.body]).toEqual(INVALID);
    }
  };
  const lives = async (as: { token: string }): Promise<void> =>
    expect((await app.get('/auth/me', as)).status).toBe(200);
  const logout = async (as: { token: string }, url = '/auth/logout'): Promise<unknown> => {
    const { status, body } = await app.send({ method: 'POST', url, as });
    return [status, body];
  };
  it('of a user whose row is gone is revoked, before the feed of sessions says so', async () => {
    const user = await app.signIn();
    await lives(user);
    await app.sql('DELETE FROM users WHERE id = $1', [user.user.id]);
    for (const url of ['/auth/me', '/users/me']) {
      const answer = await app.get(url, user);
      expect([answer.status, answer.body]).toEqual(INVALID);
    }
  });
  const again = (user: SignedIn): Promise<SignedIn> => app.signIn(user.wallet);

  it.each(['/auth/logout', '/api/auth/logout'])('ends by %s, at once, and no other does', async (url) => {
    const [user, stranger] = [await app.signIn(), await app.signIn()];
    const other = await again(user);
    await lives(user);
    expect(await logout(user, url)).toEqual(ENDED('session'));
    await isDead(user);
    await lives(other);
    await lives(stranger);
    await lives(await again(user));
  });

  it.each(['/auth/logout/all', '/api/auth/logout/all'])(
    'ends with all sessions of the user by %s',
    async (url) => {
      const [user, stranger] = [await app.signIn(), await app.signIn()];
      const other = await again(user);
      await lives(user);
      expect(await logout(other, url)).toEqual(ENDED('all'));
      await isDead(user);
      await isDead(other);
      await lives(stranger);
      const later = await again(user);
      await lives(later);
      // Again, from the next generation.
      expect(await logout(later, url)).toEqual(ENDED('all'));
      await isDead(later);
      await isDead(user);
      await lives(await again(user));
    },
  );

  it('is distinguished from others of the same second', async () => {
    const user = await app.signIn();
    const iat = Math.floor(Date.now() / 1000);
    const claims = { userId: user.user.id, address: user.address, iat, exp: iat + 60 };
    const before = forge({ ...claims, generation: 0, jti: '00000000-0000-4000-8000-000000000001' });
    await lives(before);
    await logout(user, '/auth/logout/all');
    await isDead(before);
    await lives(forge({ ...claims, generation: 1, jti: '00000000-0000-4000-8000-000000000002' }));
    await isDead(forge({ ...claims, generation: 2, jti: '00000000-0000-4000-8000-000000000003' }));
  });

  it('of a token without jti ends too, and with it in whatever case it is written', async () => {
    const user = await app.signIn();
    const claims = { userId: user.user.id, address: user.address, exp: Math.floor(Date.now() / 1000) + 60 };
    const [plain, other] = [forge(claims), forge({ ...claims, exp: claims.exp + 1 })];
    await lives(other);
    expect(await logout(plain)).toEqual(ENDED('session'));
    await isDead(plain);
    await lives(other);
    const jti = 'aaaaaaaa-0000-4000-8000-00000000000a';
    expect(await logout(forge({ ...claims, jti }))).toEqual(ENDED('session'));
    await isDead(forge({ ...claims, jti: jti.toUpperCase() }));
    // A token whose expiry exceeds every calendar can be shown and revoked too.
    const eternal = forge({ ...claims, exp: 1e300, jti: jti.replaceAll('a', 'b') });
    const me = await app.get('/users/me', eternal);
    expect(me.body.data.tokenExpiresAt).toBe('9999-12-31T23:59:59.000Z');
    expect(await logout(eternal)).toEqual(ENDED('session'));
    await isDead(eternal);
  });

  it('ends when its user is deleted, however that is done', async () => {
    const users = [await app.signIn(), await app.signIn(), await app.signIn()];
    for (const user of users) await lives(user);
    const dead = async (user: SignedIn): Promise<boolean> => (await app.get('/auth/me', user)).status === 401;
    await app.sql('DELETE FROM users WHERE id = $1', [users[0].user.id]);
    // Not /auth/me, which reads the user itself.
    await until(async () => (await app.get('/pools', users[0])).status === 401);
    await isDead(users[0]);
    await lives(users[1]);
    await app.sql('UPDATE users SET session_generation = session_generation + 1 WHERE id = $1', [
      users[1].user.id,
    ]);
    await until(() => dead(users[1]));
    // Bypasses all triggers: a row for everyone makes every session be checked again.
    await app.sql(`
      BEGIN;
      SET LOCAL session_replication_role = replica;
      DELETE FROM users WHERE id = '${users[2].user.id}';
      INSERT INTO session_endings (expires_at) VALUES (now());
      COMMIT`);
    await until(async () => (await app.get('/pools', users[2])).status === 401);
    const back = await again(users[0]);
    await lives(back);
    await isDead(users[0]);
  });

  it('ends by many simultaneous logouts, while other sessions stay valid', async () => {
    const users = await Promise.all(Array.from({ length: 60 }, () => app.signIn()));
    await Promise.all(users.map(lives));
    const leave = async (user: SignedIn, i: number): Promise<void> => {
      const url = i % 2 ? '/auth/logout' : '/auth/logout/all';
      expect((await app.send({ method: 'POST', url, as: user })).status).toBe(200);
    };
    const leaving = users.slice(0, 50);
    await Promise.all(leaving.flatMap((user, i) => [leave(user, i), app.get('/auth/me', user)]));
    for (const user of leaving) expect((await app.get('/pools', user)).status).toBe(401);
    for (const user of users.slice(50)) await lives(user);
  });

  it('that began while all were ended is either ended or lives, as the database ordered them', async () => {
    const user = await app.signIn();
    const results = await Promise.all([
      ...Array.from({ length: 10 }, () => again(user)),
      logout(user, '/auth/logout/all'),
      ...Array.from({ length: 10 }, () => again(user)),
    ]);
    const [{ generation }] = await app.sql(
      'SELECT session_generation AS generation FROM users WHERE id = $1',
      [user.user.id],
    );
    for (const session of results as SignedIn[]) {
      if (!session.token) continue;
      const claims = JSON.parse(Buffer.from(session.token.split('.')[1], 'base64url').toString()) as {
        generation: number;
      };
      const { status } = await app.get('/pools', session);
      expect([claims.generation, status]).toEqual([
        claims.generation,
        claims.generation === generation ? 200 : 401,
      ]);
    }
  });

  it('that is valid costs a request no statement, unless endings may be unknown', async () => {
    const user = await app.signIn();
    const feed = app.nest.get(SessionFeed);
    await until(() => feed.fresh);
    // And stays so, even if this process stands still meanwhile.
    const fresh = jest.spyOn(feed, 'fresh', 'get').mockReturnValue(true);
    await lives(user);
    const asked = (): Promise<string[]> => app.readsDuring(() => app.get('/lottery/winners', user));
    try {
      const usual = await asked();
      expect(usual).not.toContain('session_lives');
      expect(usual).toHaveLength(1);
      fresh.mockReturnValue(false);
      expect(await asked()).toContain('session_lives');
    } finally {
      fresh.mockRestore();
    }
  });

  it('that is ended during its check is not remembered as valid', async () => {
    const user = await app.signIn();
    const feed = app.nest.get(SessionFeed);
    const terms = holdTerms();
    const database = app.nest.get(Database);
    const read = database.read.bind(database);
    const spy = jest.spyOn(database, 'read').mockImplementation(async (statement, values) => {
      const row = await read(statement, values);
      if (statement.name === 'session_lives') {
        spy.mockRestore();
        const { term } = feed;
        const { onEndings } = feed;
        const heard = new Promise<void>((resolve) => {
          feed.onEndings = (endings) => {
            onEndings(endings);
            if (endings.some(({ userId }) => userId === user.user.id)) resolve();
          };
        });
        // Committed elsewhere, and known here, after the database had reported it as valid.
        await app.sql('UPDATE users SET session_generation = session_generation + 1 WHERE id = $1', [
          user.user.id,
        ]);
        await heard;
        expect(feed.term).toBe(term);
      }
      return row;
    });
    expect((await app.get('/pools', user)).status).toBe(200);
    expect((await app.get('/pools', user)).status).toBe(401);
    terms.mockRestore();
  });

  it('that was ended is forgotten once its token has expired', async () => {
    const user = await app.signIn();
    await logout(user);
    const rows = (): Promise<unknown[]> =>
      app.sql('SELECT FROM session_endings WHERE user_id = $1', [user.user.id]);
    const expire = (age: string): Promise<unknown> =>
      app.sql('UPDATE session_endings SET expires_at = now() - $2::interval WHERE user_id = $1', [
        user.user.id,
        age,
      ]);
    await app.nest.get(ExpiredRows).sweep();
    expect(await rows()).toHaveLength(1);
    await expire('59 minutes');
    await app.nest.get(ExpiredRows).sweep();
    expect(await rows()).toHaveLength(1);
    await app.sql(
      `INSERT INTO session_endings (expires_at) SELECT now() - interval '2 hours' FROM generate_series(1, 100)`,
    );
    await expire('61 minutes');
    // The service's own sweep may be at it.
    await until(async () => (await app.nest.get(ExpiredRows).sweep(), (await rows()).length === 0));
    expect(await app.sql(`SELECT FROM session_endings WHERE expires_at < now() - interval '1 hour'`)).toEqual(
      [],
    );
  });
});
