import { Logger } from '@nestjs/common';
import { DatabaseError, type Pool, type QueryResultRow } from 'pg';
import { setTimeout as wait } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { TimeLimits } from '#platform/postgres/budget';
import type { BoundStatement, Statement } from '#platform/postgres/statement';
import {
  DatabaseUnavailable,
  NO_STANDBY,
  OUT_OF_RANGE,
  StatementSkipped,
  codeOf,
} from '#platform/postgres/unavailable';
import { within } from '#platform/timing/waits';
import type { SlowReads } from './slow-reads';
import { READ_DEPTH, type StatementClient, StatementPool, type Work } from './statement-pool';

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
 * Fails if the server shows less than the primary had written: with 22023 if it is behind or has another log, with 55000
 * if it was promoted. Otherwise it limits the reads behind it, whose snapshots are later. The receiver knows the timeline
 * at once, but tells it only to roles with `pg_read_all_stats`. For others the control file names it, at the latest after
 * a restartpoint.
 */
const FENCE = {
  name: 'standby_fence',
  text: `
    SELECT FROM (SELECT ${log(`upper(lpad(to_hex(coalesce(
      (SELECT received_tli FROM pg_stat_wal_receiver),
      (SELECT min_recovery_end_timeline FROM pg_control_recovery()))), 8, '0'))`)}) AS replayed
    WHERE pg_get_wal_replay_pause_state() = '' OR set_config('statement_timeout',
      CASE WHEN pg_last_wal_replay_lsn() - '0/0' >= $1::numeric AND log = $2 THEN $3 ELSE '-1' END, true) = ''`,
};

/** Reads on a standby, and reads that the primary served: standby too far behind, failed, or not tried after that. */
const OUTCOMES = ['standby', 'behind', 'failed', 'paused'] as const;
type Outcome = (typeof OUTCOMES)[number];

/**
 * Reads on standbys that show everything acknowledged before the read was requested, as the primary does: the primary
 * says how far it has written, and the standby runs the read if it has replayed as much on the same timeline. If not, or
 * if anything fails, the primary serves the read.
 */
export class StandbyReads extends StatementPool {
  private readonly logger = new Logger(StandbyReads.name);
  /** What the primary had written when it was last asked: after the request of each read that waits. */
  private position: WalPosition;
  /** The question that is not sent yet. A read must not join one that is, because the answer may be older. */
  private question?: Promise<void>;
  private asked: Promise<unknown> = Promise.resolve();
  private paused = false;
  private probeAt = 0;

  constructor(
    pool: Pool,
    limits: TimeLimits,
    private readonly primary: { reads: StatementPool; slow: SlowReads },
    private readonly outcomes: Counter<'outcome'>,
  ) {
    super(pool, READ_DEPTH, { ...limits, resendMs: limits.standbyMs, answerMs: limits.standbyMs });
    for (const outcome of OUTCOMES) outcomes.inc({ outcome }, 0);
  }

  /** For statements that only read. */
  override async run<Row extends QueryResultRow>(statement: Statement, values: unknown[]): Promise<Row[]> {
    const requested = performance.now();
    if (this.paused && requested > this.probeAt) this.probe(statement, values, requested);
    const [outcome, rows] = this.paused
      ? (['paused'] as const)
      : await this.attempt<Row>(statement, values, requested);
    this.outcomes.inc({ outcome });
    return rows ?? this.primary.reads.run<Row>(statement, values, { writes: false, requested });
  }

  protected override guard(client: StatementClient, works: readonly Work[]): BoundStatement {
    const { position, log } = this.position;
    return { statement: FENCE, values: [position, log, `${this.primary.slow.limitMs(client, works)}`] };
  }

  /** The primary can serve it. */
  protected override retry(): boolean {
    return false;
  }

  private async attempt<Row extends QueryResultRow>(
    statement: Statement,
    values: unknown[],
    requested: number,
  ): Promise<[Outcome, Row[]?]> {
    const late = (): Error => new DatabaseUnavailable('no answer in time');
    try {
      // The primary may be the one that does not answer.
      const rows = await within(this.limits.standbyMs, this.fresh<Row>(statement, values, requested), late);
      if (rows) return ['standby', rows];
      this.pause(BEHIND_PAUSE_MS);
      return ['behind'];
    } catch (error) {
      // What the server says of one statement, such as that it takes too long, says nothing of the others.
      const isOfOne = error instanceof DatabaseError || error instanceof StatementSkipped;
      if (!isOfOne || codeOf(error) === NO_STANDBY) {
        if (!this.paused)
          this.logger.warn(`the primary serves all reads for now: ${(error as Error).message}`);
        this.pause(FAILED_PAUSE_MS);
      }
      return ['failed'];
    }
  }

  /** Undefined if the standby stays behind. */
  private async fresh<Row extends QueryResultRow>(
    statement: Statement,
    values: unknown[],
    requested: number,
  ): Promise<Row[] | undefined> {
    await this.written();
    for (const waitMs of ATTEMPTS_MS) {
      if (waitMs > 0) await wait(waitMs);
      try {
        return await super.run<Row>(statement, values, { writes: false, requested });
      } catch (error) {
        if (!(error instanceof StatementSkipped) || codeOf(error) !== OUT_OF_RANGE) throw error;
      }
    }
    return undefined;
  }

  /** Asks the primary for its position after this call. One question at a time, for all reads that wait for the next. */
  private written(): Promise<void> {
    this.question ??= this.asked.then(async () => {
      this.question = undefined;
      const answer = this.primary.reads.run<WalPosition>(WRITTEN, [], { writes: false });
      this.asked = answer.catch(() => undefined);
      [this.position] = await answer;
    });
    return this.question;
  }

  private pause(ms: number): void {
    this.paused = true;
    this.probeAt = performance.now() + ms;
  }

  /** Tries the standby without a request that would have to wait for it. */
  private probe(statement: Statement, values: unknown[], requested: number): void {
    this.probeAt = requested + FAILED_PAUSE_MS;
    void this.attempt(statement, values, requested).then(
      ([outcome]) => (this.paused = outcome !== 'standby'),
    );
  }
}
