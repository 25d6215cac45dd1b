import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { statement } from '#platform/postgres/statement';
import { atMostEvery } from '#platform/timing/at-most-every';
import { Database } from '#platform/database/database';

const EVERY_MS = 10_000;
/** The answer is off by up to half the time it took, so slower ones tell nothing. */
const LONGEST_MS = 500;

export const DATABASE_CLOCK = statement<object, { seconds: number }>(
  'database_clock',
  {},
  'SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds',
);

/** How far the database's clock is ahead of this process's, for operators. */
@Injectable()
export class DatabaseClock {
  constructor(
    private readonly database: Database,
    @InjectMetric('database_clock_offset_seconds') private readonly gauge: Gauge,
  ) {
    // Called at each scrape, which does not wait for the database: it shows what the one before asked for.
    Object.assign(gauge, { collect: () => void this.measure() });
  }

  /** Shares an answer of the last ten seconds. Fails silently: other code logs an unavailable database. */
  readonly measure = atMostEvery(EVERY_MS, () => this.ask().catch(() => undefined));

  private async ask(): Promise<void> {
    const [asked, began] = [Date.now(), performance.now()];
    const { seconds } = (await this.database.read(DATABASE_CLOCK, {}))!;
    const took = performance.now() - began;
    if (took <= LONGEST_MS) this.gauge.set(seconds - (asked + took / 2) / 1000);
  }
}
