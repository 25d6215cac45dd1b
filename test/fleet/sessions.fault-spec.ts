import { performance } from 'node:perf_hooks';
import { withClient } from '#dev/postgres';
import { freshDatabase } from '../support/database';
import { Fleet, report, seconds } from '../support/processes/fleet';
import { eventually } from '../support/processes/processes';
import { Proxy } from '../support/network/proxy';
import { type Answer, type Caller, HttpClient, signIn } from './http';

/** A session that ends at one replica ends at every other within this time. */
const LIMIT_MS = 1000;
const INVALID = { success: false, error: 'Invalid token', message: 'Invalid token', code: 'token_revoked' };

/**
 * Asks until the session is refused. Resolves with the ms from `ended` to the last accepted request. Fails if a
 * request that began after the limit gets 200.
 */
async function refused(client: HttpClient, caller: Caller, ended: number): Promise<number> {
  let last = ended;
  for (;;) {
    const begun = performance.now();
    const answer = await client.send('/pools', { token: caller.token });
    if (answer.status === 401) {
      expect(answer.body).toEqual(INVALID);
      return Math.max(0, last - ended);
    }
    if (answer.status !== 200) continue;
    expect(begun - ended).toBeLessThanOrEqual(LIMIT_MS);
    last = begun;
  }
}

const passes = (since: number): Promise<void> => eventually(() => performance.now() - since > LIMIT_MS);

describe('a session that is ended at one replica', () => {
  let fleet: Fleet;
  let clients: HttpClient[];
  const took: number[] = [];
  beforeAll(async () => {
    fleet = await Fleet.start();
    clients = fleet.urls.map((url) => new HttpClient(url));
  });
  afterAll(async () => {
    clients?.forEach((client) => client.close());
    await fleet?.stop();
    report('sessions ended elsewhere', { checked: took.length, 's at most': seconds(Math.max(...took)) });
  });

  /** Signed in, and known to every replica. */
  const warm = async (): Promise<Caller> => {
    const caller = await signIn(clients[0]);
    await known(caller);
    return caller;
  };
  const known = async (caller: Caller): Promise<void> => {
    for (const client of clients)
      expect((await client.send('/pools', { token: caller.token })).status).toBe(200);
  };
  const logout = async (caller: Caller, path = '/auth/logout', client = clients[0]): Promise<number> => {
    expect((await client.send(path, { method: 'POST', token: caller.token })).status).toBe(200);
    return performance.now();
  };
  const note = async (time: Promise<number>): Promise<void> => void took.push(await time);

  it.each(['/auth/logout', '/auth/logout/all'])('is over at the other within a second: %s', async (path) => {
    for (let i = 0; i < 5; i++) {
      const caller = await warm();
      const second = await signIn(clients[1], caller.wallet);
      await known(second);
      const ended = await logout(caller, path, clients[i % 2]);
      await note(refused(clients[(i + 1) % 2], caller, ended));
      if (path === '/auth/logout') await known(second);
      else await note(refused(clients[(i + 1) % 2], second, ended));
      await known(await signIn(clients[1], caller.wallet));
    }
  });

  it('ends for a process that was paused meanwhile', async () => {
    const [caller, stays] = [await warm(), await warm()];
    const [, paused] = fleet.replicas;
    paused.signal('SIGSTOP');
    let first: Promise<Answer>;
    try {
      const ended = await logout(caller);
      first = clients[1].send('/pools', { token: caller.token });
      await passes(ended);
    } finally {
      paused.signal('SIGCONT');
    }
    expect((await first).status).toBe(401);
    await known(stays);
  });

  it('ends while the table that records it is locked: requests get 503 then', async () => {
    const [caller, stays] = [await warm(), await warm()];
    await fleet.sql('UPDATE users SET session_generation = session_generation + 1 WHERE address = $1', [
      caller.address,
    ]);
    const ended = performance.now();
    await fleet.whileLocked('session_endings', async () => {
      await passes(ended);
      const answers = await Promise.all(
        clients.map((client) => client.send('/pools', { token: caller.token })),
      );
      for (const { status } of answers) expect([401, 503]).toContain(status);
    });
    for (const client of clients) await refused(client, caller, ended);
    await known(stays);
  });
});

describe('with the database behind a network that falls silent', () => {
  it('a process refuses sessions that it cannot verify, and accepts valid ones when the network is back', async () => {
    const database = await freshDatabase();
    const proxy = await Proxy.start(database.url);
    const fleet = await Fleet.start({ replicas: 1, database: { ...database, url: proxy.url } });
    const [client] = fleet.urls.map((url) => new HttpClient(url));
    try {
      const [caller, stays] = [await signIn(client), await signIn(client)];
      for (const { token } of [caller, stays])
        expect((await client.send('/pools', { token })).status).toBe(200);
      proxy.hang();
      await withClient(database.url, (direct) =>
        direct.query('UPDATE users SET session_generation = session_generation + 1 WHERE address = $1', [
          caller.address,
        ]),
      );
      await passes(performance.now());
      // Bad input is refused without the database, but not for a user who may have signed out.
      const answers = await Promise.all(
        [caller, stays].map(({ token }) => client.send('/pools', { method: 'POST', body: {}, token })),
      );
      expect(answers.map(({ status }) => status)).toEqual([503, 503]);
      proxy.restore();
      await eventually(async () => (await client.send('/pools', { token: stays.token })).status === 200);
      expect((await client.send('/pools', { token: caller.token })).status).toBe(401);
    } finally {
      client.close();
      await fleet.stop();
      await proxy.stop();
      await database.drop();
    }
  });
});
