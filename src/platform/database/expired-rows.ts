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
import { Database } from './database';

/** The average wait between sweeps. Each wait is half to one and a half times as long, so that processes differ. */
const SWEEP_MS = 10_000;
/** Rows that one statement removes: about 10 ms of work. */
const BATCH = 1000;
/** Interval after which a table is looked at from its start, for rows that were locked or came late. */
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
  /** Its last batch. */
  hasFailed?: boolean;
}

type First = Partial<Pick<Expiry, 'batch' | 'after'>>;

/**
 * Removes expired rows in batches, one process at a time. Nothing depends on the moment: expired rows are refused
 * wherever they are read.
 */
@Injectable()
export class ExpiredRows implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly tables: Expiry[] = [];
  /** How long the last sweep took, if more rows may follow it. */
  private tookMs?: number;
  private readonly loop = new Loop(
    () => this.sweep(),
    // So it uses at most half of a connection's time.
    () => this.tookMs ?? SWEEP_MS * (0.5 + Math.random()),
    new OutageLog(new Logger(ExpiredRows.name), 'removing expired rows failed; retrying'),
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

  /** Whether the last sweep left a table with more rows. */
  get hasMore(): boolean {
    return this.tookMs !== undefined;
  }

  /**
   * Removes a batch of each table, whatever happens to the others.
   * @returns the number of rows
   * @throws as Database.write, after all tables
   */
  async sweep(): Promise<number> {
    let total = 0;
    let hasMore = false;
    const errors: unknown[] = [];
    const began = performance.now();
    for (const expiry of this.tables) {
      if (this.loop.signal.aborted) break;
      // It may take seconds to fail, each time. It waits while others have more.
      if (expiry.hasFailed && this.hasMore) continue;
      try {
        const { removed, more } = await this.removeBatch(expiry);
        expiry.hasFailed = false;
        total += removed;
        hasMore ||= more;
      } catch (error) {
        expiry.hasFailed = true;
        errors.push(error);
      }
    }
    this.tookMs = hasMore ? performance.now() - began : undefined;
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
