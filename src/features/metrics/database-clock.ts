import { Injectable, Logger } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { statement } from '#platform/postgres/statement';
import { atMostEvery } from '#platform/timing/at-most-every';
import { Database } from '#platform/database/database';

/** How often the database is asked, at most. */
const EVERY_MS = 10_000;
/** A difference that tokens, signatures and waits notice. */
const WARN_SECONDS = 1;
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
  private readonly logger = new Logger(DatabaseClock.name);
  private isOff = false;

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
    if (took > LONGEST_MS) return;
    const offset = seconds - (asked + took / 2) / 1000;
    this.gauge.set(offset);
    const isOff = Math.abs(offset) > WARN_SECONDS;
    if (isOff && !this.isOff)
      this.logger.warn(`the database's clock differs from this machine's by ${offset.toFixed(1)} s`);
    this.isOff = isOff;
  }
}
