import { Pool } from 'pg';
import { Lanes } from '../src/database/lanes';
import { type TestDatabase, emptyDatabase } from './support/database';

const WIDTH = 2;
const DEPTH = 3;

describe('Lanes', () => {
  let database: TestDatabase;
  let pool: Pool;
  let admin: Pool;
  let lanes: Lanes;
  let unlocked: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    database = await emptyDatabase();
    admin = new Pool({ connectionString: database.url, application_name: 'admin', max: 2 });
    await admin.query('CREATE TABLE item (id integer PRIMARY KEY)');
  });
  afterAll(async () => {
    await admin.end();
    await database.drop();
  });
  beforeEach(async () => {
    await admin.query('TRUNCATE item');
    const options = '-c lock_timeout=300ms';
    pool = new Pool({ connectionString: database.url, max: WIDTH + 1, pipeline: true, options });
    pool.on('connect', (client) => client.on('error', () => undefined)).on('error', () => undefined);
    lanes = new Lanes(pool, WIDTH, DEPTH);
  });
  afterEach(async () => {
    await unlocked?.();
    await pool.end();
  });

  const echo = (value: number): Promise<{ value: number } | undefined> =>
    lanes.run('echo', 'SELECT $1::int AS value', [value]);
  const insert = (id: number): Promise<{ id: number } | undefined> =>
    lanes.run('insert', 'INSERT INTO item VALUES ($1) RETURNING id', [id]);
  const connections = async (): Promise<number> => {
    const { rows } = await admin.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'admin'`,
    );
    return rows.length;
  };

  /** So that every statement on it waits. @returns what lets them go on */
  const lockTable = async (): Promise<() => Promise<void>> => {
    const client = await admin.connect();
    await client.query('BEGIN; LOCK TABLE item');
    let released: Promise<void> | undefined;
    unlocked = () => (released ??= client.query('ROLLBACK').then(() => client.release()));
    return unlocked;
  };

  it('gives everyone the own answer, over no more connections than allowed', async () => {
    const numbers = Array.from({ length: 500 }, (_, i) => i);
    const answers = await Promise.all(numbers.map(echo));
    expect(answers.map((row) => row?.value)).toEqual(numbers);
    expect(await connections()).toBe(WIDTH);
    expect(pool.idleCount).toBe(WIDTH);
    expect(lanes.waiting).toBe(0);
  });

  it('lets a statement fail alone', async () => {
    const results = await Promise.allSettled([1, 2, 1, 3, 2, 4, 5].map(insert));
    const failed = results.filter(({ status }) => status === 'rejected');
    expect(failed).toHaveLength(2);
    expect(failed).toEqual(
      [1, 2].map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: '23505' }) })),
    );
    expect((await admin.query('SELECT FROM item')).rowCount).toBe(5);
  });

  it('fails what is under way when its connections are lost, and goes on over others', async () => {
    const unlock = await lockTable();
    const pending = Promise.allSettled([1, 2, 3, 4].map(insert));
    while ((await admin.query(`SELECT FROM pg_locks WHERE NOT granted`)).rowCount !== WIDTH);
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name <> 'admin'`,
    );
    expect((await pending).map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
    await unlock();
    expect(await Promise.all([5, 6, 7].map(insert))).toEqual([{ id: 5 }, { id: 6 }, { id: 7 }]);
    expect((await admin.query('SELECT FROM item')).rowCount).toBe(3);
  });

  it('refuses what waits for too long, and does nothing of what it refused', async () => {
    const unlock = await lockTable();
    const results = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => insert(i)));
    expect(results.map(({ status }) => status)).toEqual(Array(100).fill('rejected'));
    const reasons = results.map((result) => String((result as PromiseRejectedResult).reason));
    // The last: those behind the first of its name, which failed while it was prepared.
    for (const reason of reasons)
      expect(reason).toMatch(/lock timeout$|connection timeout: all are busy$|"insert" does not exist$/);
    await unlock();
    expect(await insert(1000)).toEqual({ id: 1000 });
    expect((await admin.query('SELECT FROM item')).rowCount).toBe(1);
  });

  it('refuses at once when too many wait', async () => {
    const unlock = await lockTable();
    const results = Promise.allSettled(Array.from({ length: 1200 }, (_, i) => insert(i)));
    expect(lanes.waiting).toBe(1000);
    await unlock();
    const refused = (await results).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused).toEqual(
      refused.map(() => ({
        status: 'rejected',
        reason: new Error('too many waiting for a database connection'),
      })),
    );
  });

  it('tells every caller when there is no database', async () => {
    const nowhere = new Pool({ connectionString: 'postgres://postgres@127.0.0.1:1/none', pipeline: true });
    const closed = new Lanes(nowhere, WIDTH, DEPTH);
    const results = await Promise.allSettled(
      [1, 2, 3, 4, 5, 6].map((i) => closed.run('a', 'SELECT $1', [i])),
    );
    for (const result of results)
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ECONNREFUSED' } });
    await nowhere.end();
  });
});
