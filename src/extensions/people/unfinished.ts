import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { Database } from '#platform/database/database';
import { statement } from '#platform/postgres/statement';
import { atMostEvery } from '#platform/timing/at-most-every';

const EVERY_MS = 10_000;

/** Each is one row of an index, however many there are. */
export const UNFINISHED = statement<object, { deletion: number; operation: number }>(
  'unfinished',
  {},
  `SELECT
     coalesce(extract(epoch FROM now() - (SELECT min(requested_at) FROM account_deletions)), 0)::float8 AS deletion,
     coalesce(extract(epoch FROM now() - (
       SELECT min(begun_at) FROM operator_records WHERE ended_at IS NULL)), 0)::float8 AS operation`,
);

@Injectable()
export class Unfinished {
  constructor(
    private readonly database: Database,
    @InjectMetric('account_deletion_age_seconds') private readonly deletion: Gauge,
    @InjectMetric('operator_record_open_seconds') private readonly operation: Gauge,
  ) {
    // Called at each scrape, which does not wait for the database: it shows what the one before asked for.
    Object.assign(deletion, { collect: () => void this.measure() });
  }

  /** Fails silently: other code logs an unavailable database. */
  readonly measure = atMostEvery(EVERY_MS, () => this.ask().catch(() => undefined));

  private async ask(): Promise<void> {
    const { deletion, operation } = (await this.database.read(UNFINISHED, {}))!;
    this.deletion.set(Math.max(0, deletion));
    this.operation.set(Math.max(0, operation));
  }
}
