import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import type { DatabaseClient } from '#platform/postgres/database-pool';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { DatabaseUnavailable, isOutcomeUnknown } from '#platform/postgres/unavailable';
import { afterIo } from '#platform/timing/waits';

/** What the repositories of the given manager do, `manager.withRepository(this.notes)`. It waits for nothing else. */
type Work<Result> = (manager: EntityManager) => Promise<Result>;

const READ = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY';
const WRITE = 'SET TRANSACTION READ WRITE';

/** Lock waits end early, because they hold one of few connections. The server ends what this process has left. */
const settings = (leftMs: number, lockMs: number): string => `
  SET LOCAL statement_timeout = ${leftMs};
  SET LOCAL idle_in_transaction_session_timeout = ${leftMs};
  SET LOCAL lock_timeout = ${lockMs}`;

/**
 * Runs work of repositories in a transaction that is answered in time, as `Database` answers named statements: within
 * 4.5 s, whatever the database does. A write that failed was not done and will not be, except with `OutcomeUnknown`:
 * then its commit was under way. Nothing is sent again.
 */
@Injectable()
export class Transactions {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly environment: PostgresSettings,
  ) {}

  /**
   * All that the work reads is of one moment. It cannot change anything.
   * @throws DatabaseUnavailable, or TypeORM's QueryFailedError; `isUnavailable` tells whether it was the database
   */
  read<Result>(work: Work<Result>): Promise<Result> {
    return this.run(work, READ);
  }

  /**
   * All or nothing of what the work does, at PostgreSQL's usual isolation, READ COMMITTED.
   * @throws as `read`, and OutcomeUnknown
   */
  write<Result>(work: Work<Result>): Promise<Result> {
    return this.run(work, WRITE);
  }

  private async run<Result>(work: Work<Result>, mode: typeof READ | typeof WRITE): Promise<Result> {
    const { lockMs, deadlineMs, answerMs } = this.environment.limits;
    const requested = performance.now();
    const left = (ms: number): number => Math.floor(requested + ms - performance.now());
    let mayBeDone = false;
    const guarded: Work<Result> = async (manager) => {
      // One round trip, because it has no parameters.
      await manager.query(`${mode}; ${settings(Math.max(left(deadlineMs), 1), lockMs)}`);
      const result = await work(manager);
      if (left(deadlineMs) <= 0) throw new DatabaseUnavailable('too late to commit');
      mayBeDone = mode === WRITE;
      return result;
    };
    const runner = this.dataSource.createQueryRunner();
    try {
      // It waits at most `sendMs` for one to be free, and as long for a new one.
      const client = (await runner.connect()) as DatabaseClient;
      // Whatever is under way then fails, and is undone unless it is the commit.
      const stop = afterIo(left(answerMs), () => client.cut());
      return await runner.manager.transaction(guarded).finally(stop);
    } catch (error) {
      // To the connection, whatever is sent may have been done.
      if (mayBeDone || !isOutcomeUnknown(error)) throw error;
      throw new DatabaseUnavailable('database connection lost', { cause: error });
    } finally {
      await runner.release();
    }
  }
}
