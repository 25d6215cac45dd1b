import { execFileSync } from 'node:child_process';
import { Client, Pool } from 'pg';
import { SessionFeed } from '#features/access/session-feed';
import { type Ending, LOOK_FOR_ENDINGS } from '#features/access/sessions.sql';
import { settings, until } from '../support/app';
import { PATIENT, type TestDatabase, freshDatabase } from '../support/database';
import { Proxy } from '../support/network/proxy';

/** Ends when the server has answered the first poll, and the time for an answer is over. */
const ANSWERED = `
  const { Client } = require('pg');
  const client = new Client(process.argv[1]);
  const answered = \`SELECT FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'api sessions' AND state = 'idle' AND query LIKE '%session_endings%'\`;
  void (async () => {
    await client.connect();
    await client.query('SELECT pg_sleep(2.2)');
    while ((await client.query(answered)).rowCount === 0);
    await client.end();
  })();`;

describe('what follows the ended sessions', () => {
  const realNow = Date.now;
  let database: TestDatabase;
  let proxy: Proxy;
  let admin: Pool;
  let feed: SessionFeed;
  let heard: Ending[][];

  beforeEach(async () => {
    database = await freshDatabase();
    proxy = await Proxy.start(database.url);
    admin = new Pool({ connectionString: database.url, max: 2 });
    // Ignores connections that close when the database is dropped.
    admin.on('error', () => undefined);
    follow();
  });
  afterEach(async () => {
    Date.now = realNow;
    feed.onApplicationShutdown();
    await admin.end();
    await proxy.stop();
    await database.drop();
  });

  const follow = (url = proxy.url, pollMs = PATIENT.pollMs): void => {
    feed = new SessionFeed(settings(url, { DATABASE_URL: url }, { ...PATIENT, pollMs }));
    heard = [];
    feed.onEndings = (endings) => void heard.push(endings);
  };
  const started = async (): Promise<number> => {
    await feed.onModuleInit();
    await until(() => feed.fresh);
    return feed.term;
  };
  const end = (count: number): Promise<unknown> =>
    admin.query(
      `INSERT INTO session_endings (user_id, expires_at)
       SELECT gen_random_uuid(), now() + interval '1 day' FROM generate_series(1, $1)`,
      [count],
    );
  /** Endings from now on are reported one by one, in the same term. */
  const goesOn = async (count = 1): Promise<void> => {
    const { term } = feed;
    heard = [];
    await end(count);
    await until(() => heard.length > 0 || feed.term > term);
    expect([heard.flat().length, feed.term]).toEqual([count, term]);
  };

  it('reports each ending once, in the order of commits', async () => {
    const term = await started();
    const client = await admin.connect();
    await client.query('BEGIN');
    await client.query(`INSERT INTO session_endings (user_id, expires_at) VALUES (gen_random_uuid(), now())`);
    await end(3);
    await until(() => heard.flat().length === 3);
    await end(2);
    await until(() => heard.flat().length === 5);
    await client.query('COMMIT');
    client.release();
    await until(() => heard.flat().length > 5);
    await goesOn();
    expect(feed.term).toBe(term);
  });

  it('proves nothing any more while nothing comes, and begins a new term when it is connected again', async () => {
    follow(proxy.url, 500);
    const term = await started();
    proxy.hang();
    await until(() => !feed.fresh);
    await end(1);
    proxy.restore();
    await until(() => feed.fresh);
    expect(feed.term).toBeGreaterThan(term);
  });

  it('reads an answer that came while the process stood still', async () => {
    // Without the proxy, which stands still with the process.
    follow(database.url, 2000);
    const query = Reflect.get(Client.prototype, 'query') as (...args: unknown[]) => unknown;
    const watched = jest.spyOn(Client.prototype, 'query').mockImplementation(function (
      this: Client,
      ...args: unknown[]
    ) {
      const answer = query.apply(this, args);
      if ((args[0] as { name?: string }).name === LOOK_FOR_ENDINGS.name) {
        watched.mockRestore();
        execFileSync(process.execPath, ['-e', ANSWERED, database.url]);
      }
      return answer;
    });
    await feed.onModuleInit();
    expect(feed.term).toBe(1);
  });

  it('begins a new term after a gap in which endings may have been removed, by whichever clock', async () => {
    follow(proxy.url, 20_000);
    const term = await started();
    // The machine was suspended: the monotonic clock stood still.
    Date.now = () => realNow() + 61_000;
    expect(feed.fresh).toBe(false);
    await until(() => feed.fresh);
    expect(feed.term).toBe(term + 1);
    // A short gap does not count.
    Date.now = () => realNow() + 61_000 + 25_000;
    expect(feed.fresh).toBe(false);
    await until(() => feed.fresh);
    expect(feed.term).toBe(term + 1);
    await goesOn();
  });

  it('takes thousands at once for the end of every session, and tells up to that one by one', async () => {
    await started();
    await goesOn(5000);
    const { term } = feed;
    await end(5001);
    await until(() => feed.term > term);
    expect(heard.flat()).toHaveLength(5000);
    await goesOn();
  });

  it('does not trust a standby, which learns of commits late', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await admin.query(
      `CREATE FUNCTION public.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true';
       ALTER DATABASE "${name}" SET search_path = public, pg_catalog`,
    );
    await feed.onModuleInit();
    expect(feed.fresh).toBe(false);
    await admin.query(`ALTER DATABASE "${name}" RESET search_path`);
    await until(() => feed.fresh);
    await goesOn();
  });
});
