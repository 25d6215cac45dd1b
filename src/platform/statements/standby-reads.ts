import { Logger } from '@nestjs/common';
import { DatabaseError, type PoolConfig, type QueryResult, type QueryResultRow } from 'pg';
import { setTimeout as wait } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { TimeLimits } from '#platform/postgres/budget';
import { DatabaseClient, DatabasePool } from '#platform/postgres/database-pool';
import type { Statement } from '#platform/postgres/statement';
import type { StatementBatch } from '#platform/postgres/statement-batch';
import { DatabaseUnavailable, StatementSkipped } from '#platform/postgres/unavailable';
import { within } from '#platform/timing/waits';
import { BatchedPool } from './batched-pool';
import type { SlowReads } from './slow-reads';
import type { PoolSize, StatementPool } from './statement-pool';

/** Before each attempt, in ms: a standby that has not replayed enough is usually only a moment behind. */
const ATTEMPTS_MS = [0, 1, 3, 10];
/** After a failure, or when a standby stays behind, it is tried again after this time. */
const FAILED_PAUSE_MS = 1000;
const BEHIND_PAUSE_MS = 100;

/** A position in the write-ahead log. Two of them compare only if their logs are the same. */
interface WalPosition {
  /** Bytes. */
  position: string;
  /**
   * Timeline, server and database. Each promotion of a standby starts another timeline: a deposed primary and its
   * standbys may be further than the new one.
   */
  log: string;
}
const log = (timeline: string): string =>
  `concat_ws(' ', ${timeline}, (SELECT system_identifier FROM pg_control_system()), current_database()) AS log`;

/**
 * Everything that was acknowledged before lies below this position. A commit is flushed before it is acknowledged,
 * unless `synchronous_commit` is off. Fails on a standby. The timeline is in the names of WAL files.
 */
const WRITTEN = {
  name: 'written_position',
  text: `
    SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
      ELSE pg_current_wal_flush_lsn() END - '0/0' AS position,
      ${log('left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)')}`,
};

/**
 * What the standby shows to every later statement. No row on a primary. The receiver knows the timeline at once, but
 * tells it only to roles with `pg_read_all_stats`. For others the control file names it, at the latest after a
 * restartpoint.
 */
const REPLAYED = {
  name: 'replayed_position',
  text: `
    SELECT pg_last_wal_replay_lsn() - '0/0' AS position, ${log(`upper(lpad(to_hex(coalesce(
      (SELECT received_tli FROM pg_stat_wal_receiver),
      (SELECT min_recovery_end_timeline FROM pg_control_recovery()))), 8, '0'))`)}
    WHERE pg_is_in_recovery()`,
};

/**
 * A connection to a standby. The first row of every result is the `WalPosition` that this standby had replayed
 * before the statement began. Both are sent at once, and answered in order, as transactions of their own: so the
 * statement's snapshot is later than the position.
 */
class StandbyClient extends DatabaseClient {
  override query(...args: unknown[]): unknown {
    const [batch] = args as [StatementBatch];
    let position: object | undefined;
    super.query({ ...REPLAYED, values: [] }, (_error: Error | null, result?: QueryResult<WalPosition>) => {
      position = result?.rows[0];
      // It was promoted, or tells no position: another connection may lead to a standby.
      if (!position) this.cut();
    });
    const { answered } = batch;
    batch.answered = (index, error, rows) => {
      if (error) answered(index, error);
      else if (!position) answered(index, new DatabaseUnavailable('the server tells no position'));
      else answered(index, null, [position, ...rows!]);
    };
    return super.query(batch);
  }
}

/**
 * Reads on a standby, and reads that the primary served: standby too far behind, failed, or not tried after that; or
 * slow ones, which the primary runs apart.
 */
const OUTCOMES = ['standby', 'behind', 'failed', 'paused', 'slow'] as const;
type Outcome = (typeof OUTCOMES)[number];

/**
 * Reads on standbys that show everything acknowledged before the read was requested, as the primary does:
 * - The standby runs the read, and says how far it had replayed before.
 * - The primary says how far it has written: at the same time, or before that while it is writing.
 * - The answer counts if the standby was as far, on the same timeline. If not, or if anything fails, the primary serves
 *   the read.
 */
export class StandbyReads {
  private readonly logger = new Logger(StandbyReads.name);
  private readonly pool: DatabasePool;
  private readonly standby: BatchedPool;
  /** The question that is not sent yet. A read must not join one that is, because the answer may be older. */
  private question?: Promise<WalPosition>;
  private asked: Promise<unknown> = Promise.resolve();
  private latest?: string;
  /** Whether the primary's position changed between the last two questions. */
  private writing = false;
  private paused = false;
  private probeAt = 0;

  constructor(
    options: PoolConfig,
    size: PoolSize,
    private readonly limits: TimeLimits,
    private readonly primary: { reads: StatementPool; slow?: SlowReads },
    private readonly outcomes: Counter<'outcome'>,
  ) {
    for (const outcome of OUTCOMES) outcomes.inc({ outcome }, 0);
    this.pool = new DatabasePool({ ...options, Client: StandbyClient as unknown as PoolConfig['Client'] });
    const { slow } = primary;
    const { standbyMs } = limits;
    const skipped = (): Error => new StatementSkipped('the primary runs it apart');
    this.standby = new BatchedPool(
      this.pool,
      size,
      // What fails is not sent again, because the primary can serve it.
      { ...limits, sendMs: standbyMs, resendMs: 0, answerMs: standbyMs },
      slow && {
        slow,
        accept: ({ callback }, error) => callback(error ?? skipped()),
      },
    );
  }

  /** As `StatementPool.run`, for statements that only read. */
  async run<Row extends QueryResultRow>(statement: Statement, values: unknown[]): Promise<Row[]> {
    const requested = performance.now();
    if (this.paused && requested > this.probeAt) this.probe(requested);
    const [outcome, rows] = this.isSlow(statement, values)
      ? (['slow'] as const)
      : this.paused
        ? (['paused'] as const)
        : await this.attempt<Row>(statement, values);
    this.outcomes.inc({ outcome });
    return rows ?? this.primary.reads.run<Row>(statement, values, { writes: false, requested });
  }

  end(): Promise<void> {
    return this.pool.end();
  }

  private async attempt<Row>(statement: Statement, values: unknown[]): Promise<[Outcome, Row[]?]> {
    const late = (): Error => new DatabaseUnavailable('no answer in time');
    try {
      // The primary may be the one that does not answer.
      const rows = await within(this.limits.standbyMs, this.fresh<Row>(statement, values), late);
      if (rows) return ['standby', rows];
      this.pause(BEHIND_PAUSE_MS);
      return ['behind'];
    } catch (error) {
      // What the server says of one statement, such as a conflict with recovery, says nothing of the others.
      if (!(error instanceof DatabaseError || error instanceof StatementSkipped)) {
        if (!this.paused)
          this.logger.warn(`the primary serves all reads for now: ${(error as Error).message}`);
        this.pause(FAILED_PAUSE_MS);
      }
      return [this.isSlow(statement, values) ? 'slow' : 'failed'];
    }
  }

  private isSlow(statement: Statement, values: unknown[]): boolean {
    return this.primary.slow?.has({ statement, values }) ?? false;
  }

  /** Undefined if the standby stays behind. */
  private async fresh<Row>(statement: Statement, values: unknown[]): Promise<Row[] | undefined> {
    const written = this.written();
    // A standby is behind at the moment of a write, so the read would most likely be for nothing.
    if (this.writing) await written;
    for (const waitMs of ATTEMPTS_MS) {
      if (waitMs > 0) await wait(waitMs);
      const [from, [seen, ...rows]] = await Promise.all([
        written,
        this.standby.run<WalPosition>(statement, values, { writes: false }),
      ]);
      if (seen.log === from.log && BigInt(seen.position) >= BigInt(from.position)) return rows as Row[];
    }
    return undefined;
  }

  /** The primary's position after this call. One question at a time, for all reads that wait for the next. */
  private written(): Promise<WalPosition> {
    this.question ??= this.asked.then(async () => {
      this.question = undefined;
      const answer = this.primary.reads.run<WalPosition>(WRITTEN, [], { writes: false });
      this.asked = answer.catch(() => undefined);
      const [written] = await answer;
      this.writing = written.position !== this.latest;
      this.latest = written.position;
      return written;
    });
    return this.question;
  }

  private pause(ms: number): void {
    this.paused = true;
    this.probeAt = performance.now() + ms;
  }

  /** Tries the standby without a request that would have to wait for it. */
  private probe(now: number): void {
    this.probeAt = now + FAILED_PAUSE_MS;
    void this.attempt(REPLAYED, []).then(([outcome]) => (this.paused = outcome !== 'standby'));
  }
}
