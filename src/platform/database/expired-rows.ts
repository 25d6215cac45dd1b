import {
  type FactoryProvider,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import { OutageLog } from '#platform/log/outage-log';
import { type TypedStatement, statement } from '#platform/postgres/statement';
import { Loop } from '#platform/timing/loop';
import { pause } from '#platform/timing/waits';
import { Database } from './database';

/** The average wait between sweeps. Each wait is half to one and a half times as long, so that processes differ. */
const SWEEP_MS = 10_000;
const MAX_REST_MS = 1000;
/** A sweep ends after this time and the next one continues it, so that rows that expire meanwhile wait no longer. */
const MAX_SWEEP_MS = 60_000;
/** Rows that one statement removes: about 10 ms of work. */
const BATCH = 1000;
/** Interval after which a sweep starts over, for rows that were locked or came late. */
const FROM_START_MS = 3_600_000;

export interface ExpiryParameters {
  /** The value that the previous batch reached; null to begin again. */
  after: string | null;
  batch: number;
}
export interface ExpiryResult {
  removed: number;
  reached: string | null;
  /** Whether more rows may follow, if a full batch does not show that. */
  more?: boolean;
}

/**
 * A statement that removes the oldest rows whose `column` is before `before`, unless another process is doing so. It
 * starts behind what earlier batches removed. A long transaction, such as a backup, keeps those rows in the index, and
 * each scan from the start would walk over all of them.
 */
export const removeExpired = (table: string, column: string, before: string): Expiry['statement'] =>
  statement<ExpiryParameters, ExpiryResult>(
    `remove_expired_${table}`,
    { after: 'timestamptz', batch: 'integer' },
    `
  WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended('expired ${table}', 0)) AS mine
  ), removed AS (
    DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${table}
      WHERE (SELECT mine FROM turn) AND ${column} < ${before} AND ${column} >= coalesce(:after, '-infinity')
      ORDER BY ${column} LIMIT :batch FOR UPDATE SKIP LOCKED))
    RETURNING ${column}
  )
  SELECT count(*)::int AS removed, max(${column})::text AS reached FROM removed`,
  );

interface Expiry {
  table: string;
  statement: TypedStatement<ExpiryParameters, ExpiryResult>;
  batch: number;
  after: string | null;
  startedAt: number;
}

type First = Partial<Pick<Expiry, 'batch' | 'after'>>;

/**
 * Removes expired rows in batches, one process at a time. Nothing depends on the moment: expired rows are refused
 * wherever they are read.
 */
@Injectable()
export class ExpiredRows implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(ExpiredRows.name);
  private readonly tables: Expiry[] = [];
  private readonly loop = new Loop(
    () => this.sweep(),
    () => SWEEP_MS * (0.5 + Math.random()),
    new OutageLog(this.logger, 'removing expired rows failed; retrying'),
  );

  constructor(
    private readonly database: Database,
    @InjectMetric('expired_rows_removed_total') private readonly removed: Counter<'table'>,
  ) {}

  /** Modules list a provider made by `expiring` instead of calling this. */
  register(table: string, statement: Expiry['statement'], first: First = {}): void {
    this.tables.push({ table, statement, batch: BATCH, after: null, ...first, startedAt: Date.now() });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.loop.stop();
  }

  /**
   * Removes rows that have expired, of each table whatever happens to the others. Tables take turns, so that none
   * waits for a long one. Rests after each full batch for as long as it took, so that it uses at most half of a
   * connection's time.
   * @returns the number of rows
   * @throws as Database.write, after all tables
   */
  async sweep(): Promise<number> {
    const { signal } = this.loop;
    let total = 0;
    const errors: unknown[] = [];
    const ends = performance.now() + MAX_SWEEP_MS;
    for (let open = this.tables; open.length > 0 && performance.now() < ends && !signal.aborted;) {
      const unfinished: Expiry[] = [];
      for (const expiry of open) {
        if (signal.aborted) break;
        const began = performance.now();
        try {
          const { removed, more } = await this.removeBatch(expiry);
          total += removed;
          if (!more) continue;
          unfinished.push(expiry);
          await pause(Math.min(performance.now() - began, MAX_REST_MS), signal);
        } catch (error) {
          errors.push(error);
        }
      }
      open = unfinished;
    }
    if (total > 0) this.logger.debug(`removed ${total} expired rows`);
    if (errors.length > 0) throw errors[0];
    return total;
  }

  private async removeBatch(expiry: Expiry): Promise<{ removed: number; more: boolean }> {
    const now = Date.now();
    if (now - expiry.startedAt > FROM_START_MS) Object.assign(expiry, { after: null, startedAt: now });
    const { table, statement, batch, after } = expiry;
    const {
      removed,
      reached,
      more = removed === batch,
    } = (await this.database.write(statement, { after, batch }))!;
    this.removed.inc({ table }, removed);
    expiry.after = reached ?? after;
    return { removed, more };
  }
}

/**
 * A provider that has a table's expired rows removed: `providers: [expiring('nonces', REMOVE_EXPIRED_NONCES)]`.
 * @param statement of `removeExpired`
 * @param first another batch size, and the value after which a new process starts
 */
export const expiring = (
  table: string,
  statement: Expiry['statement'],
  first?: First,
): FactoryProvider<void> => ({
  provide: Symbol(`expired rows of ${table}`),
  inject: [ExpiredRows],
  useFactory: (rows: ExpiredRows) => rows.register(table, statement, first),
});
