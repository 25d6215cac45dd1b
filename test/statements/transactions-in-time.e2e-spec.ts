import { Client, type Pool } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '#platform/database/data-source';
import { Transactions } from '#platform/database/transactions';
import type { TimeLimits } from '#platform/postgres/budget';
import { poolOf } from '#platform/postgres/typeorm-internals';
import { isOutcomeUnknown, isUnavailable } from '#platform/postgres/unavailable';
import { settings, until } from '../support/app';
import { PATIENT, QUICK, type TestDatabase, emptyDatabase } from '../support/database';
import { Proxy } from '../support/network/proxy';

const PARALLEL = 5;
/** Of everything in this file. A service reads them for each statement, but a pool's once. */
const limits: TimeLimits = { ...PATIENT };
const limit = (pool: Pool, own: Partial<TimeLimits>): void => {
  Object.assign(limits, PATIENT, own);
  pool.options.connectionTimeoutMillis = limits.sendMs;
};

describe('transactions of repositories', () => {
  let database: TestDatabase;
  let network: Proxy;
  let source: DataSource;
  let pool: Pool;
  let transactions: Transactions;
  let admin: Client;

  beforeAll(async () => {
    database = await emptyDatabase();
    admin = new Client({ connectionString: database.url });
    await admin.connect();
    await admin.query('CREATE TABLE item (id integer PRIMARY KEY)');
    network = await Proxy.start(database.url);
    // Its table is the superuser's.
    const environment = settings(network.url, { DATABASE_URL: network.url }, limits);
    const options = dataSourceOptions(environment);
    source = await new DataSource({ ...options, entities: [], migrations: [] }).initialize();
    pool = poolOf(source);
    transactions = new Transactions(source, environment);
  });
  afterAll(async () => {
    await source.destroy();
    await network.stop();
    await admin.end();
    await database.drop();
  });
  beforeEach(() => admin.query('TRUNCATE item'));
  afterEach(() => {
    limit(pool, PATIENT);
    expect([pool.totalCount - pool.idleCount, pool.waitingCount]).toEqual([0, 0]);
  });

  it('have the time that an operator sets, and none otherwise, unless `Transactions` limits them', async () => {
    const limits = async (seconds?: string): Promise<string> => {
      const options = dataSourceOptions(
        settings(database.url, { DATABASE_URL: database.url, DATABASE_STATEMENT_TIMEOUT: seconds }),
      );
      const other = await new DataSource({ ...options, entities: [], migrations: [] }).initialize();
      const [{ statement_timeout: limit }] = await other
        .query<{ statement_timeout: string }[]>('SHOW statement_timeout')
        .finally(() => other.destroy());
      return limit;
    };
    expect([await limits(), await limits('0'), await limits('90')]).toEqual(['0', '0', '90s']);
  });

  const COUNT = 'SELECT count(*)::int AS count FROM item';
  const INSERT = 'INSERT INTO item VALUES (1)';
  /** After everything that the server got has ended. */
  const stored = async (): Promise<number> => {
    await admin.query('BEGIN; LOCK TABLE item');
    const { rows } = await admin.query<{ count: number }>(COUNT);
    await admin.query('COMMIT');
    return rows[0].count;
  };
  const insert = (): Promise<unknown> => transactions.write((manager) => manager.query(INSERT));
  /** What the API would answer. */
  const answer = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: unknown) =>
        isOutcomeUnknown(error) ? 'outcome_unknown' : isUnavailable(error) ? 'unavailable' : String(error),
    );

  it('do all or nothing', async () => {
    expect(await answer(insert())).toBe('done');
    expect(await answer(insert())).toMatch('item_pkey');
    const failing = transactions.write(async (manager) => {
      await manager.query('INSERT INTO item VALUES (2)');
      throw new Error('no');
    });
    expect(await answer(failing)).toBe('Error: no');
    expect(await stored()).toBe(1);
  });

  it('leave the connections as they were', async () => {
    const setting = async (): Promise<unknown> =>
      source.query(
        `SELECT name, setting FROM pg_settings WHERE name ~ 'timeout$|^transaction_' ORDER BY name`,
      );
    const before = await setting();
    await insert();
    await transactions.read((manager) => manager.query(COUNT));
    expect(pool.totalCount).toBe(1);
    expect(await setting()).toEqual(before);
  });

  it('read one moment, and cannot write', async () => {
    const counts = await transactions.read(async (manager) => {
      const before: unknown = await manager.query(COUNT);
      await admin.query(INSERT);
      return [before, await manager.query(COUNT)];
    });
    expect(counts).toEqual([[{ count: 0 }], [{ count: 0 }]]);
    await admin.query('TRUNCATE item');
    await expect(transactions.read((manager) => manager.query(INSERT))).rejects.toThrow('read-only');
    expect(await stored()).toBe(0);
  });

  it.each(['read', 'write'] as const)('a %s is unavailable in time while nothing arrives', async (kind) => {
    await transactions[kind]((manager) => manager.query(COUNT));
    network.hold('requests');
    limit(pool, { sendMs: QUICK.sendMs });
    try {
      const work = (): Promise<unknown> => {
        // It was requested so long ago that its answer is due in a moment.
        jest.spyOn(performance, 'now').mockReturnValueOnce(performance.now() - limits.answerMs + 700);
        return transactions[kind]((manager) => manager.query(kind === 'read' ? COUNT : INSERT));
      };
      // More than there are connections.
      const answers = await Promise.all(Array.from({ length: PARALLEL }, () => answer(work())));
      expect(answers).toEqual(Array(PARALLEL).fill('unavailable'));
    } finally {
      jest.restoreAllMocks();
      limit(pool, PATIENT);
      network.deliver();
    }
    expect(await answer(transactions.write((manager) => manager.query(COUNT)))).toBe('done');
    expect(await stored()).toBe(0);
  });

  it('a write is not done later if the network held its statements, and unknown if it held the commit', async () => {
    limit(pool, { deadlineMs: 2000, answerMs: 2500 });
    const held = transactions.write(async (manager) => {
      network.hold('requests');
      await manager.query(INSERT);
    });
    expect(await answer(held)).toBe('unavailable');
    network.deliver();
    expect(await answer(transactions.write((manager) => manager.query(COUNT)))).toBe('done');
    expect(await stored()).toBe(0);
    const committing = transactions.write(async (manager) => {
      await manager.query(INSERT);
      network.hold('requests');
    });
    expect(await answer(committing)).toBe('outcome_unknown');
    // The server ends the session by itself.
    await until(async () => {
      const { rowCount } = await admin.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
      );
      return rowCount === 0;
    });
    network.deliver();
    expect(await answer(transactions.write((manager) => manager.query(COUNT)))).toBe('done');
    expect(await stored()).toBe(0);
  });

  it('a read whose end is lost has no outcome', async () => {
    limit(pool, { deadlineMs: 2000, answerMs: 2500 });
    const reading = transactions.read(async (manager) => {
      await manager.query(COUNT);
      network.hold('requests');
    });
    expect(await answer(reading)).toBe('unavailable');
    network.deliver();
  });

  it('are undone when they wait for a lock, for a slow statement, or come too late to commit', async () => {
    limit(pool, QUICK);
    const after = (...seconds: number[]): Promise<unknown> =>
      transactions.write(async (manager) => {
        await manager.query(INSERT);
        for (const each of seconds) await manager.query(`SELECT pg_sleep(${each})`);
      });
    expect(await answer(after(10))).toBe('unavailable');
    expect(await answer(after(0.3, 0.3))).toBe('unavailable');
    await admin.query('BEGIN; LOCK TABLE item');
    try {
      expect(await answer(insert())).toBe('unavailable');
    } finally {
      await admin.query('ROLLBACK');
    }
    expect(await stored()).toBe(0);
  });
});
