import assert from 'node:assert';
import { Client, Pool, type PoolConfig, TypeOverrides, types as pgTypes } from 'pg';
import { LIMITS, type TimeLimits } from '#platform/postgres/budget';
import { DatabasePool } from '#platform/postgres/database-pool';
import type { Statement } from '#platform/postgres/statement';
import {
  DatabaseUnavailable,
  OutcomeUnknown,
  StatementSkipped,
  isUnavailable,
} from '#platform/postgres/unavailable';
import { StatementPool } from '#platform/statements/statement-pool';
import { WritePool } from '#platform/statements/write-pool';
import { until } from '../support/app';
import { PATIENT, type TestDatabase, emptyDatabase } from '../support/database';
import { Proxy } from '../support/network/proxy';
import { SEED, generator } from '../support/random';
import { LOCK_WAITS } from '../support/ledger';

const WIDTH = 2;
const DEPTH = 3;
const ECHO = { name: 'echo', text: 'SELECT $1::int AS value' };
const INSERT = { name: 'insert', text: 'INSERT INTO item VALUES ($1) RETURNING id' };

describe('pools of statements', () => {
  let database: TestDatabase;
  let admin: Pool;
  const opened: Pool[] = [];
  const proxies: Proxy[] = [];
  let unlocked: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    database = await emptyDatabase();
    admin = new Pool({ connectionString: database.url, application_name: 'admin', max: 4 });
    // Ignores connections that close when the database is dropped.
    admin.on('error', () => undefined);
    await admin.query('CREATE TABLE item (id integer PRIMARY KEY)');
  });
  afterAll(async () => {
    await admin.end();
    await database.drop();
  });
  beforeEach(() => admin.query('TRUNCATE item'));
  afterEach(async () => {
    await unlocked?.();
    for (const proxy of proxies.splice(0)) await proxy.stop();
    for (const pool of opened.splice(0)) await pool.end();
  });
  const startProxy = async (): Promise<Proxy> => {
    proxies.push(await Proxy.start(database.url));
    return proxies.at(-1)!;
  };

  const open = (
    { reads = false, width = WIDTH, depth = DEPTH } = {},
    { limits, ...config }: PoolConfig & { limits?: Partial<TimeLimits> } = {},
  ): [StatementPool, Pool] => {
    const pool = new DatabasePool({
      connectionString: database.url,
      max: width,
      options: '-c lock_timeout=300ms',
      ...config,
    });
    opened.push(pool);
    const given = { ...LIMITS, ...limits };
    return [reads ? new StatementPool(pool, depth, given) : new WritePool(pool, given), pool];
  };
  const insert = (pool: StatementPool, ...ids: number[]): Promise<unknown>[] =>
    ids.map((id) => pool.run(INSERT, [id]));
  /** Until it is done: on a busy machine even a connection takes longer than the short times of some tests. */
  const eventually = (pool: StatementPool, statement: Statement, value: number): Promise<void> =>
    until(() =>
      pool.run(statement, [value]).then(
        () => true,
        // One whose outcome was unknown may have been done.
        ({ code }: { code?: string }) => code === '23505',
      ),
    );
  const pids = async (which = ''): Promise<number[]> => {
    const { rows } = await admin.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'admin'
       AND backend_type = 'client backend' ${which}`,
    );
    return rows.map(({ pid }) => pid);
  };
  const connections = async (): Promise<number> => (await pids()).length;
  /** The server may be slow to end those of the test before. */
  const haveConnections = (count: number): Promise<void> =>
    until(async () => (await connections()) === count);
  const stored = async (): Promise<number[]> =>
    (await admin.query<{ id: number }>('SELECT id FROM item ORDER BY id')).rows.map(({ id }) => id);
  const blocked = async (): Promise<number> => (await admin.query(LOCK_WAITS)).rowCount!;
  const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  /** Numbers of the fulfilled statements. */
  const done = (results: PromiseSettledResult<unknown>[]): number[] =>
    results.flatMap(({ status }, i) => (status === 'fulfilled' ? i : []));

  /** Makes every statement on it wait. @returns a function that lets them continue */
  const lockTable = async (): Promise<() => Promise<void>> => {
    const client = await admin.connect();
    await client.query('BEGIN; LOCK TABLE item');
    let released: Promise<void> | undefined;
    unlocked = () => (released ??= client.query('ROLLBACK').then(() => client.release()));
    return unlocked;
  };

  it.each([true, false])(
    'gives everyone the own answer, over no more connections than allowed (reads: %s)',
    async (reads) => {
      const [statements, pool] = open({ reads }, { limits: PATIENT });
      const ask = (value: number): Promise<unknown> => statements.run(ECHO, [value], { writes: !reads });
      const answers = await Promise.all(range(500).map(ask));
      expect(answers).toEqual(range(500).map((value) => [{ value }]));
      await until(() => pool.idleCount === WIDTH);
      await haveConnections(WIDTH);
      expect(statements.waiting).toBe(0);
    },
  );

  it('lets a statement fail without affecting others', async () => {
    const [writes, pool] = open();
    const results = await Promise.allSettled(insert(writes, 1, 2, 1, 3, 2, 4, 5));
    const failed = results.filter(({ status }) => status === 'rejected');
    expect(failed).toEqual(
      [1, 2].map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: '23505' }) })),
    );
    expect(await stored()).toEqual([1, 2, 3, 4, 5]);
    // The first connection may have done all before the second one was open.
    await until(() => pool.idleCount === WIDTH);
    await haveConnections(WIDTH);
  });

  it('answers a write after its commit, which may fail', async () => {
    const [writes] = open({ width: 1 });
    await admin.query(`CREATE TABLE part (item integer REFERENCES item DEFERRABLE INITIALLY DEFERRED)`);
    const add = { name: 'add_part', text: 'INSERT INTO part VALUES ($1) RETURNING item' };
    try {
      const results = await Promise.allSettled([
        writes.run(add, [1]),
        ...insert(writes, 1),
        writes.run(add, [1]),
        writes.run(add, [{ toPostgres: () => assert.fail('no such value') }]),
        writes.run(add, [1]),
      ]);
      expect(results.map(({ status }) => status)).toEqual([
        'rejected',
        'fulfilled',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      expect(results[0]).toMatchObject({ reason: { code: '23503' } });
      expect(results[3]).toMatchObject({ reason: { message: 'no such value' } });
      expect((await admin.query('SELECT item FROM part')).rows).toEqual([{ item: 1 }, { item: 1 }]);
    } finally {
      await admin.query('DROP TABLE part');
    }
  });

  it('needs no columns of statements that return nothing', async () => {
    const [writes] = open({ width: 1 });
    const text = 'DELETE FROM item WHERE id = $1';
    for (let i = 0; i < 3; i++) expect(await writes.run({ name: 'remove', text }, [1])).toEqual([]);
    expect(await writes.run({ name: 'empty', text: '' }, [])).toEqual([]);
    expect(await Promise.all(insert(writes, 7))).toEqual([[{ id: 7 }]]);
  });

  describe('reads', () => {
    const DIVIDE = { name: 'divide', text: 'SELECT 12 / $1::int AS value' };
    const PID = { name: 'pid', text: 'SELECT pg_backend_pid() AS pid' };
    const BEGUN = { name: 'begun', text: 'SELECT transaction_timestamp()::text AS value WHERE $1::int > 0' };
    const read = (pool: StatementPool, statement: Statement, values: unknown[]): Promise<unknown> =>
      pool.run(statement, values, { writes: false });
    const reasons = (results: PromiseSettledResult<unknown>[]): unknown[] =>
      results.map((each) =>
        each.status === 'rejected' ? (each.reason as { code: string }).code : each.value,
      );

    it('go together when they come together', async () => {
      const [reads] = open({ reads: true, width: 1, depth: 8 });
      const begun = await Promise.all(range(16).map(() => read(reads, BEGUN, [1])));
      expect(new Set(begun.map((rows) => JSON.stringify(rows))).size).toBe(2);
    });

    it('without parameters run once for all calls that wait, and again for those that come later', async () => {
      const [reads] = open({ reads: true, width: 1, depth: 32 }, { options: '' });
      await admin.query('CREATE SEQUENCE asked');
      const value = `nextval('asked')::int AS value, (SELECT count(*)::int FROM item) AS items`;
      const ask = { name: 'ask', text: `SELECT ${value}` };
      const askOwn = { name: 'ask_own', text: `SELECT ${value}, $1::int` };
      const times = (count: number, statement: Statement, values: unknown[] = []): Promise<unknown[]> =>
        Promise.all(range(count).map(() => reads.run(statement, values, { writes: false })));
      try {
        expect(await times(20, ask)).toEqual(range(20).map(() => [{ value: 1, items: 0 }]));
        expect(new Set((await times(5, askOwn, [1])).map((rows) => JSON.stringify(rows))).size).toBe(5);

        const unlock = await lockTable();
        const first = times(2, ask);
        await until(async () => (await blocked()) === 1);
        const later = times(20, ask);
        await Promise.all([unlock(), first]);
        expect(await first).toEqual(range(2).map(() => [{ value: 7, items: 0 }]));
        expect(await later).toEqual(range(20).map(() => [{ value: 8, items: 0 }]));

        const fail = { name: 'fail', text: 'SELECT 1 / (SELECT count(*) FROM item)' };
        const failed = await Promise.allSettled(range(3).map(() => reads.run(fail, [], { writes: false })));
        expect(failed).toEqual(
          range(3).map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: '22012' }) })),
        );
      } finally {
        await admin.query('DROP SEQUENCE asked');
      }
    });

    it('that calls share are sent again when their connection is lost', async () => {
      const [reads] = open({ reads: true, width: 1 }, { options: '' });
      const count = { name: 'count', text: 'SELECT count(*)::int FROM item' };
      const unlock = await lockTable();
      const answers = Promise.all(range(3).map(() => reads.run(count, [], { writes: false })));
      await until(async () => (await blocked()) === 1);
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      await unlock();
      expect(await answers).toEqual(range(3).map(() => [{ count: 0 }]));
    });

    it.each([true, false])('fail alone (prepared before: %s)', async (prepared) => {
      const [reads] = open({ reads: true, width: 1, depth: 8 });
      if (prepared) await read(reads, DIVIDE, [1]);
      const missing = ['missing', 'absent'].map((name) => ({ name, text: `SELECT FROM ${name}` }));
      const results = await Promise.allSettled([
        ...[1, 0, 2, 0, 3].map((by) => read(reads, DIVIDE, [by])),
        ...missing.map((each) => read(reads, each, [])),
        read(reads, DIVIDE, [4]),
      ]);
      expect(reasons(results)).toEqual([
        [{ value: 12 }],
        '22012',
        [{ value: 6 }],
        '22012',
        [{ value: 4 }],
        '42P01',
        '42P01',
        [{ value: 3 }],
      ]);
      await haveConnections(1);
    });

    it('never get the error of another one', async () => {
      const limits = { sendMs: 1500, resendMs: 0, deadlineMs: 3500, answerMs: 4500 };
      const [reads, pool] = open({ reads: true, width: 1 }, { limits });
      // Nothing waits for a connection that opens.
      await pool.query('SELECT');
      const results = await Promise.allSettled([read(reads, DIVIDE, [0]), read(reads, ECHO, [1])]);
      const [own, skipped] = results.map((each) => (each as PromiseRejectedResult).reason as Error);
      expect(own).toMatchObject({ code: '22012' });
      expect(skipped).toBeInstanceOf(StatementSkipped);
      expect(isUnavailable(skipped)).toBe(true);
    });

    it('outlive a time limit of single queries', async () => {
      const [reads, pool] = open({ reads: true, width: 1 }, { query_timeout: 1000 });
      const [{ pid }] = (await read(reads, PID, [])) as { pid: number }[];
      // Together longer than the limit.
      const end = performance.now() + 1200;
      const sleep = { text: 'SELECT pg_sleep(0.1)', query_timeout: 60_000 };
      while (performance.now() < end) await pool.query(sleep);
      expect(await read(reads, PID, [])).toEqual([{ pid }]);
    });

    it('are sent without those that cannot be', async () => {
      const [reads] = open({ reads: true, width: 1, depth: 8 });
      const circular: unknown[] = [];
      circular.push({ circular });
      const other = { name: DIVIDE.name, text: 'SELECT 1' };
      const results = await Promise.allSettled([
        read(reads, DIVIDE, [3]),
        read(reads, other, []),
        read(reads, ECHO, [{ circular }]),
        read(reads, DIVIDE, [2]),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
      expect(await read(reads, DIVIDE, [12])).toEqual([{ value: 1 }]);
    });

    it('have an empty text without disturbing others', async () => {
      const [reads] = open({ reads: true, width: 1, depth: 8 });
      const empty = { name: 'empty', text: '' };
      const results = [read(reads, DIVIDE, [6]), read(reads, empty, []), read(reads, DIVIDE, [4])];
      expect(await Promise.all(results)).toEqual([[{ value: 2 }], [], [{ value: 3 }]]);
    });

    it('fail alone when an answer cannot be read', async () => {
      const types = new TypeOverrides();
      types.setTypeParser(pgTypes.builtins.BOOL, () => assert.fail('unreadable'));
      const [reads] = open({ reads: true, width: 1, depth: 8 }, { types });
      const unreadable = { name: 'unreadable', text: 'SELECT true AS value' };
      const results = await Promise.allSettled([read(reads, unreadable, []), read(reads, DIVIDE, [4])]);
      expect(results).toMatchObject([{ reason: { message: 'unreadable' } }, { value: [{ value: 3 }] }]);
    });

    it('are sent again when a pooler has forgotten them', async () => {
      const [reads, pool] = open({ reads: true, width: 1 });
      await read(reads, DIVIDE, [1]);
      await pool.query('DEALLOCATE ALL');
      const results = await Promise.all([12, 6, 4].map((by) => read(reads, DIVIDE, [by])));
      expect(results).toEqual([[{ value: 1 }], [{ value: 2 }], [{ value: 3 }]]);
    });

    it('that wait behind a slow one are refused in time', async () => {
      const limits = { sendMs: 100, resendMs: 200, deadlineMs: 300, answerMs: 5000 };
      const [reads] = open({ reads: true, width: 1 }, { limits });
      await eventually(reads, ECHO, 1);
      const slow = read(reads, { name: 'slow', text: 'SELECT pg_sleep(2)::text AS value' }, []);
      await until(() => reads.waiting === 0);
      await expect(read(reads, ECHO, [1])).rejects.toThrow('all database connections are busy');
      expect(await slow).toEqual([{ value: '' }]);
    });
  });

  it('sends a statement again that a pooler has forgotten', async () => {
    const [writes, pool] = open({ width: 1 });
    await Promise.all(insert(writes, 1));
    await pool.query('DEALLOCATE ALL');
    expect(done(await Promise.allSettled(insert(writes, 2, 3, 4)))).toEqual([0, 1, 2]);
    expect(await stored()).toEqual([1, 2, 3, 4]);
  });

  it('fails statements in flight when connections are lost, and continues on new ones', async () => {
    const [writes] = open();
    const unlock = await lockTable();
    const pending = Promise.allSettled(insert(writes, 1, 2, 3, 4));
    await until(async () => (await blocked()) === WIDTH);
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name <> 'admin'`,
    );
    for (const result of await pending) {
      expect(result.status).toBe('rejected');
      expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    }
    await unlock();
    expect(await Promise.all(insert(writes, 5, 6, 7))).toEqual([[{ id: 5 }], [{ id: 6 }], [{ id: 7 }]]);
    expect(await stored()).toEqual([5, 6, 7]);
  });

  it('refuses at once when too many statements wait', async () => {
    const [writes] = open();
    const unlock = await lockTable();
    const results = Promise.allSettled(insert(writes, ...range(1200)));
    expect(writes.waiting).toBe(1000);
    await unlock();
    const settled = await results;
    const refused = settled.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused as PromiseRejectedResult[]) expect(isUnavailable(reason)).toBe(true);
    expect(await stored()).toEqual(done(settled));
  });

  describe('a refused statement does not take effect later', () => {
    const limits = { sendMs: 150, resendMs: 200, deadlineMs: 300, answerMs: 900 };

    it(`however long a lock is held (SEED=${SEED})`, async () => {
      const random = generator(SEED);
      const [writes] = open({}, { limits: { ...limits, answerMs: 600 }, options: '-c lock_timeout=400ms' });
      // Prepared before, so that the lock is met during execution.
      await eventually(writes, INSERT, -1);
      await admin.query('DELETE FROM item');
      let next = 0;
      const outcomes = { fulfilled: 0, rejected: 0 };
      for (let round = 0; round < 25; round++) {
        const holder = await admin.connect();
        await holder.query('BEGIN; LOCK TABLE item IN SHARE MODE');
        const ids = range(1 + random(12)).map(() => next++);
        const pending = Promise.allSettled(insert(writes, ...ids));
        await holder.query(`SELECT pg_sleep(${random(round % 2 ? 1000 : 120) / 1000}); COMMIT`);
        holder.release();
        const results = await pending;
        // Waits for everything that still runs.
        await until(async () => (await pids(`AND state = 'active'`)).length === 0);
        expect(await stored()).toEqual(done(results).map((i) => ids[i]));
        for (const { status } of results) outcomes[status]++;
        await admin.query('DELETE FROM item');
      }
      expect(outcomes.fulfilled).toBeGreaterThan(0);
      expect(outcomes.rejected).toBeGreaterThan(0);
    });

    it('however late it reaches the server', async () => {
      const proxy = await startProxy();
      const [writes] = open({ width: 1 }, { limits, connectionString: proxy.url });
      await eventually(writes, INSERT, 1);
      for (let round = 0; round < 3; round++) {
        proxy.hold('requests');
        const results = await Promise.allSettled(insert(writes, 2, 3, 4));
        expect(done(results)).toEqual([]);
        for (const { reason } of results as PromiseRejectedResult[]) expect(isUnavailable(reason)).toBe(true);
        expect(proxy.waiting).toBeGreaterThan(0);
        proxy.deliver();
        // Once the server has ended the connection, it has read everything that was sent.
        await until(async () => (await connections()) === 0);
        expect(await stored()).toEqual([1]);
        await eventually(writes, INSERT, 10);
        await admin.query('DELETE FROM item WHERE id = 10');
      }
    });

    it('behind a statement that takes the server too long', async () => {
      const [writes] = open({ width: 1 }, { limits });
      await eventually(writes, INSERT, 1);
      const slow = { name: 'slow', text: 'SELECT pg_sleep(60)' };
      // All have the same deadline, even if this process is interrupted between two of them.
      const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
      const running = Promise.allSettled([writes.run(slow, []), ...insert(writes, 2, 3, 4)]);
      clock.mockRestore();
      const results = await running;
      expect(done(results)).toEqual([]);
      expect((results[0] as PromiseRejectedResult).reason).toMatchObject({ code: '57014' });
      for (const { reason } of results.slice(1) as PromiseRejectedResult[])
        expect(reason).toBeInstanceOf(DatabaseUnavailable);
      // The connection worked until the end, and still does.
      await haveConnections(1);
      await eventually(writes, INSERT, 5);
      expect(await stored()).toEqual([1, 5]);
    });
  });

  it('leaves the timeout of other transactions unchanged', async () => {
    const [writes] = open({ width: 1 }, { statement_timeout: 1234 });
    await eventually(writes, ECHO, 1);
    const show = { name: 'show', text: `SELECT current_setting('statement_timeout') AS timeout` };
    const [{ timeout }] = await writes.run<{ timeout: string }>(show, []);
    expect(timeout).not.toBe('1234ms');
    const { rows } = await opened[0].query('SHOW statement_timeout');
    expect(rows).toEqual([{ statement_timeout: '1234ms' }]);
  });

  describe('the deadline', () => {
    const text = `SELECT date_part('epoch', current_setting('statement_timeout')::interval) AS seconds`;
    /** Seconds that the server gave a statement. */
    const given = async (pool: StatementPool): Promise<number> =>
      (await pool.run<{ seconds: number }>({ name: 'seconds', text }, []))[0].seconds;
    /** So far ahead that a stall of this process is a small part of it. */
    const limits = { ...PATIENT, sendMs: LIMITS.sendMs, resendMs: 60_000, deadlineMs: 60_300 };
    const isRight = (pool: StatementPool): Promise<boolean> =>
      given(pool).then(
        (seconds) => seconds > 58.3 && seconds <= 60.3,
        () => false,
      );
    // By more than the deadline: a clock that is behind by less is read again after 30 s at the latest.
    it.each([120_000, -120_000])('is right again after a clock was set by %d ms', async (jump) => {
      const [writes] = open({ width: 1 }, { limits });
      const realNow = performance.now.bind(performance);
      // So that it stays above 0, as a real one does.
      const offset = 1_000_000;
      try {
        performance.now = () => realNow() + offset;
        await until(() => isRight(writes));
        performance.now = () => realNow() + offset + jump;
        await until(() => isRight(writes));
      } finally {
        performance.now = realNow;
      }
    });
  });

  it('leaves a new connection that gets no answer', async () => {
    const proxy = await startProxy();
    const [writes, pool] = open({ width: 1 }, { connectionString: proxy.url, connectionTimeoutMillis: 500 });
    // Of the connection's first question, for the server's clock.
    pool.once('connect', () => proxy.hang());
    await expect(writes.run(INSERT, [1])).rejects.toThrow(DatabaseUnavailable);
    await until(() => pool.totalCount === 0);
    proxy.restore();
    await eventually(writes, INSERT, 2);
    expect(await stored()).toEqual([2]);
  });

  it('leaves a server that became read-only', async () => {
    const [writes] = open({ width: 1 });
    await Promise.all(insert(writes, 1));
    const before = await pids();
    await opened[0].query('SET default_transaction_read_only = on');
    expect(await writes.run(INSERT, [2])).toEqual([{ id: 2 }]);
    expect(await pids()).not.toEqual(before);
    expect(await stored()).toEqual([1, 2]);
  });

  describe('while the database moves to another server', () => {
    const SLEEP = { name: 'sleep', text: 'SELECT pg_sleep($1)::text AS value' };
    const working = (event: string): Promise<number[]> => pids(`AND wait_event_type = '${event}'`);
    const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
      promise.then(
        () => undefined,
        (reason: unknown) => reason,
      );

    it('a server that stays read-only is told to the caller, in time', async () => {
      const limits = { sendMs: 2000, resendMs: 2000, deadlineMs: 3500, answerMs: 4500 };
      const options = '-c default_transaction_read_only=on';
      const [writes] = open({ width: 1 }, { limits, options });
      const error = await failureOf(writes.run(INSERT, [1]));
      expect(error).toMatchObject({ code: '25006' });
      expect(isUnavailable(error)).toBe(true);
    });

    it('statements whose session the server ended before they were done run once, on another', async () => {
      const [writes] = open({}, { options: '-c lock_timeout=0' });
      await Promise.all(insert(writes, 1, 2));
      const unlock = await lockTable();
      const pending = Promise.all(insert(writes, 3, 4, 5, 6, 7));
      await until(async () => (await working('Lock')).length === WIDTH);
      const before = await working('Lock');
      await admin.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [before]);
      await until(
        async () => (await working('Lock')).filter((pid) => !before.includes(pid)).length === WIDTH,
      );
      await unlock();
      await pending;
      expect(await stored()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    });

    it('statements wait while nobody is served, as when commits wait for a standby', async () => {
      const limits = { ...PATIENT, sendMs: 1 };
      const [writes] = open({ width: 1 }, { limits, options: '-c lock_timeout=50ms' });
      await Promise.all(insert(writes, 1));
      const attempts = async (): Promise<string | undefined> =>
        (
          await admin.query<{ begun: string }>(
            `SELECT query_start::text AS begun FROM pg_stat_activity WHERE datname = current_database()
             AND application_name <> 'admin' AND wait_event_type = 'Lock'`,
          )
        ).rows[0]?.begun;
      const unlock = await lockTable();
      const pending = Promise.all(insert(writes, 2, 3));
      const seen = new Set<string | undefined>();
      await until(async () => seen.add(await attempts()).size > 3);
      await unlock();
      await pending;
      expect(await stored()).toEqual([1, 2, 3]);
    });

    it('statements wait while connections are refused', async () => {
      const proxy = await startProxy();
      const [writes] = open({}, { connectionString: proxy.url });
      proxy.refuse();
      const pending = Promise.all(insert(writes, 1, 2, 3));
      // Behind the connections of the pool.
      await expect(new Client({ connectionString: proxy.url }).connect()).rejects.toThrow();
      proxy.restore();
      await pending;
      expect(await stored()).toEqual([1, 2, 3]);
    });

    it('a lost connection: what reads is sent again, what writes may have been done', async () => {
      const proxy = await startProxy();
      const [reads] = open({ width: 1, reads: true }, { connectionString: proxy.url });
      const [writes] = open({ width: 1 }, { connectionString: proxy.url });
      const written = failureOf(writes.run(SLEEP, ['60']));
      await until(async () => (await working('Timeout')).length === 1);
      const read = reads.run(SLEEP, ['1'], { writes: false });
      await until(async () => (await working('Timeout')).length === 2);
      proxy.restore();
      expect(await read).toEqual([{ value: '' }]);
      expect(await written).toBeInstanceOf(OutcomeUnknown);
      expect(isUnavailable(await written)).toBe(true);
    });

    it('a statement behind younger ones is answered in its own time', async () => {
      const limits = { sendMs: 40_000, resendMs: 20_000, deadlineMs: 40_000, answerMs: 40_000 };
      const [reads] = open({ width: 1, reads: true }, { limits });
      const younger = reads.run(SLEEP, ['5'], { writes: false });
      await until(async () => (await working('Timeout')).length === 1);
      const older = reads.run(ECHO, [1], {
        writes: false,
        requested: performance.now() - limits.answerMs + 200,
      });
      expect(await failureOf(older)).toBeInstanceOf(DatabaseUnavailable);
      expect(await younger).toEqual([{ value: '' }]);
    });

    it('a server that says nothing is given up when the answer is due', async () => {
      const proxy = await startProxy();
      const limits = { ...PATIENT, sendMs: 200_000, resendMs: 200_000 };
      const [writes] = open({ width: 1 }, { limits, connectionString: proxy.url });
      await Promise.all(insert(writes, 1));
      proxy.hang();
      const requested = performance.now() - limits.answerMs + 300;
      expect(await failureOf(writes.run(INSERT, [2], { requested }))).toBeInstanceOf(OutcomeUnknown);
    });

    it('in a long outage nobody waits', async () => {
      const limits = { sendMs: 100_000, resendMs: 100_000, deadlineMs: 110_000, answerMs: 120_000 };
      const connectionString = 'postgres://postgres@127.0.0.1:1/none';
      const [closed] = open({}, { limits, connectionString });
      for (let round = 0; round < 3; round++)
        expect(await failureOf(closed.run(INSERT, [1]))).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    });
  });
});
