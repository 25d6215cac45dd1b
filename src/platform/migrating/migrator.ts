import { createHash } from 'node:crypto';
import { DatabaseError } from 'pg';
import { DataSource, type Migration, MigrationExecutor, QueryFailedError, type QueryRunner } from 'typeorm';
import { dataSourceOptions } from '#platform/database/data-source';
import { COMMAND_CONNECT_MS, LIMITS } from '#platform/postgres/budget';
import { pause } from '#platform/timing/waits';
import { VERSION, functions, installed, isLater, privileges } from './schema';

/** Requests that queue behind a migration, which waits for its lock, wait no longer than this. */
const LOCK_MS = 500;
/** Requests that queue behind the triggers of several tables wait no longer than this, all in all: clients get 503 later. */
const LOCKS_MS = 2000;
/** Between two tries to get a lock, half of it or more. Meanwhile requests that queued are served. */
const RETRY_MS = 2000;
const PATIENCE_MS = 10 * 60_000;
const POLL_MS = 500;
const LOCK_NOT_AVAILABLE = '55P03';
const IS_NEEDED = '2BP01';
const TRIGGER = /^CREATE OR REPLACE TRIGGER (\w+)[^;]*? ON (\w+)[^;]*;/gm;
const DROP = /^DROP [^;]*?(?: ON (\w+))?;/gm;
const DROP_TRIGGER = /^DROP TRIGGER IF EXISTS (\w+) ON (\w+);/gm;

/** For migrations: planner defaults, no statement timeout, and one connection, since locks are the connection's. */
export const migrationSource = (url: string): DataSource => {
  const limits = { ...LIMITS, sendMs: COMMAND_CONNECT_MS };
  return new DataSource(dataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_SIZE: 1, limits }, 'indexer'));
};

type Tell = (line: string) => void;

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/**
 * Runs the migrations of this version on a database, one after the other. Of several at once one works, and the others
 * wait for it. A migration that does not get a lock within half a second is undone and tried again, so that it never
 * holds up requests for longer. It has to have its connection for itself: through a pooler of transactions the
 * lock that keeps others out does not hold.
 * @param patienceMs for how long a migration is tried again, and for how long another process may take
 */
export class Migrator {
  constructor(
    private readonly source: DataSource,
    private readonly tell: Tell,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  /** @returns the names of those that it ran */
  run(): Promise<string[]> {
    return this.alone(async (runner, executor) => {
      const pending = await executor.getPendingMigrations();
      for (const migration of pending)
        await this.step(migration.name, () => this.apply(runner, executor, migration));
      this.tell(
        pending.length > 0 ? `migrations that have run: ${pending.length}` : 'no migration is pending',
      );
      await this.install(runner);
      return pending.map(({ name }) => name);
    });
  }

  /** Undoes the last one. @returns its name; undefined where there is none */
  revert(): Promise<string | undefined> {
    return this.alone(async (runner, executor) => {
      const [last] = await executor.getExecutedMigrations();
      if (!last) return undefined;
      await this.step(`undoing ${last.name}`, async () => {
        await runner.query(`SET lock_timeout = ${LOCK_MS}`);
        // Its functions may not fit what is left: the next run, also of an older version, installs its own.
        await runner.query(`COMMENT ON TABLE migrations IS '${installed(VERSION, 'reverted')}'`);
        await executor.undoLastMigration();
      });
      return last.name;
    });
  }

  /** Grants the roles their rights again: those that exist by now, to the tables as they are. */
  grant(): Promise<void> {
    return this.alone(async (runner) => {
      await runner.query(privileges());
    });
  }

  /**
   * One transaction, unless the migration asks for none. Then it may wait: what is built concurrently blocks nobody. No
   * table is ever seen without the rights to it.
   */
  private async apply(runner: QueryRunner, executor: MigrationExecutor, migration: Migration): Promise<void> {
    if (migration.instance?.transaction === false) {
      await runner.query('SET lock_timeout = 0');
      await executor.executeMigration(migration);
      await runner.query(privileges());
      return;
    }
    await this.transaction(runner, async () => {
      await executor.executeMigration(migration);
      await runner.query(privileges());
    });
  }

  /** Installs functions, triggers and rights of this version in one transaction, unless a later version has. */
  private async install(runner: QueryRunner): Promise<void> {
    const texts = functions();
    const [{ before }] = (await runner.query(
      `SELECT obj_description('migrations'::regclass, 'pg_class') AS before`,
    )) as { before: string | null }[];
    const now = installed(VERSION, digestOf([...texts, privileges()].join('\0')));
    const by = before && / of ([^:]+): (?!reverted)/.exec(before)?.[1];
    if (by && isLater(by, VERSION)) return this.tell(`the functions of ${by}, a later version, stay`);
    if (before !== now)
      await this.step(`functions of ${VERSION}`, () =>
        this.transaction(runner, async () => {
          await replace(runner, texts);
          await runner.query(privileges());
          await runner.query(`COMMENT ON TABLE migrations IS '${now}'`);
        }),
      );
    // Those of one table wait for one lock.
    const drops = new Map<string, string>();
    for (const [drop, table = ''] of texts.flatMap((text) => [...text.matchAll(DROP)]))
      drops.set(table, `${drops.get(table) ?? ''}${drop}\n`);
    for (const statements of drops.values()) await this.drop(runner, statements);
  }

  /**
   * Those of a table in one transaction: dropping a trigger locks readers out, and readers of several tables would hold one
   * while they wait for another. While others read for long, the drop is left to a later run.
   */
  private async drop(runner: QueryRunner, statement: string): Promise<void> {
    try {
      await this.transaction(runner, () => runner.query(statement));
    } catch (error) {
      if (!hasCode(error, LOCK_NOT_AVAILABLE, IS_NEEDED)) throw error;
      this.tell(`others use what this drops; the next run tries again: ${statement}`);
    }
  }

  private async transaction(runner: QueryRunner, work: () => Promise<unknown>): Promise<void> {
    await runner.query(`SET lock_timeout = ${LOCK_MS}`);
    await runner.startTransaction();
    try {
      await work();
      await runner.commitTransaction();
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    }
  }

  /** Tries until it gets its locks, and tells how long the last try took. */
  private async step(name: string, work: () => Promise<void>): Promise<void> {
    const began = performance.now();
    for (;;) {
      const from = performance.now();
      try {
        await work();
        this.tell(`${name}: ${seconds(from)}`);
        return;
      } catch (error) {
        if (!hasCode(error, LOCK_NOT_AVAILABLE) || performance.now() - began > this.patienceMs)
          throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
        this.tell(`${name}: others use what it changes; trying again`);
        await pause(RETRY_MS * (0.5 + Math.random() / 2));
      }
    }
  }

  /** Polls, because a statement that waits would hold a snapshot, and an index that is built concurrently waits for those. */
  private async alone<Result>(
    work: (runner: QueryRunner, executor: MigrationExecutor) => Promise<Result>,
  ): Promise<Result> {
    const runner = this.source.createQueryRunner();
    try {
      const began = performance.now();
      while (!(await tryLock(runner))) {
        if (performance.now() - began > this.patienceMs)
          throw new Error('another process has not ended its migrations');
        if (performance.now() - began < POLL_MS) this.tell('waiting for another process that migrates');
        await pause(POLL_MS);
      }
      const executor = new MigrationExecutor(this.source, runner);
      executor.transaction = 'each';
      return await work(runner, executor);
    } finally {
      // It also ends with the connection.
      await runner.query(`SELECT pg_advisory_unlock_all()`).catch(() => undefined);
      await runner.release();
    }
  }
}

/**
 * Functions first, then triggers, so the order of files does not matter. A trigger is replaced only if its text has changed,
 * which its comment tells: that locks its table, and replacing a function locks nothing. One that is to be dropped is
 * disabled until then.
 */
async function replace(runner: QueryRunner, texts: string[]): Promise<void> {
  // Bodies in SQL may call functions of files behind theirs.
  await runner.query('SET LOCAL check_function_bodies = off');
  for (const text of texts) await runner.query(text.replaceAll(TRIGGER, '').replaceAll(DROP, ''));
  const from = performance.now();
  const change = async (statement: string): Promise<void> => {
    // A lock that is held makes others wait for the next one too.
    const left = Math.max(Math.ceil(from + LOCKS_MS - performance.now()), 1);
    await runner.query(`SET LOCAL lock_timeout = ${Math.min(LOCK_MS, left)}`);
    await runner.query(statement);
  };
  for (const [trigger, name, table] of texts.flatMap((text) => [...text.matchAll(TRIGGER)])) {
    const digest = digestOf(trigger);
    const [found] = await find(runner, name, table);
    if (found?.comment !== digest)
      await change(`${trigger} COMMENT ON TRIGGER ${name} ON ${table} IS '${digest}'`);
  }
  for (const [drop, name, table] of texts.flatMap((text) => [...text.matchAll(DROP_TRIGGER)]))
    for (const { view } of await find(runner, name, table))
      // Triggers of views cannot be disabled, and nobody reads those views. Without the comment, a version that has the
      // trigger replaces it.
      await change(
        view
          ? drop
          : `ALTER TABLE ${table} DISABLE TRIGGER ${name}; COMMENT ON TRIGGER ${name} ON ${table} IS NULL`,
      );
}

const find = (runner: QueryRunner, name: string, table: string) =>
  runner.query(
    `SELECT obj_description(t.oid, 'pg_trigger') AS comment, c.relkind = 'v' AS view
     FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE t.tgname = $1 AND c.oid = $2::regclass`,
    [name, table],
  ) as Promise<{ comment: string | null; view: boolean }[]>;

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

async function tryLock(runner: QueryRunner): Promise<boolean> {
  const [{ locked }] = (await runner.query(
    `SELECT pg_try_advisory_lock(hashtextextended('migrations', 0)) AS locked`,
  )) as { locked: boolean }[];
  return locked;
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return cause instanceof DatabaseError && codes.includes(cause.code!);
}
