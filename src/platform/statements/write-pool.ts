import type { Pool, PoolClient, QueryResult } from 'pg';
import type { TimeLimits } from '#platform/postgres/budget';
import type { BoundStatement } from '#platform/postgres/statement';
import type { StatementBatch } from '#platform/postgres/statement-batch';
import { afterIo } from '#platform/timing/waits';
import { type StatementClient, StatementPool, type Work } from './statement-pool';

/** The server's clock is read again after this time. */
const CLOCK_AGE_MS = 30_000;

const CLOCK = {
  name: 'server_clock',
  text: `SELECT date_part('epoch', clock_timestamp()) * 1000 AS now`,
};

/**
 * Limits the next statement to the time that is left until the deadline, in ms of the server's clock since 1970. When
 * none is left, -1 is outside the setting's range, so this fails with 22023; 0 would switch the timeout off. No row.
 */
const DEADLINE = {
  name: 'statement_deadline',
  text: `
    SELECT WHERE set_config('statement_timeout', coalesce(nullif(least(greatest(
      floor($1::float8 - date_part('epoch', clock_timestamp()) * 1000), -1), 1e9), 0), -1)::int::text, true) = ''`,
};

/** The clock of a connection's server: its time when `readAt` was a `performance.now()`, or later. */
interface Clock {
  time: number;
  readAt: number;
}

/**
 * For statements that write, each a transaction on a connection of its own. A guard precedes it in that transaction, so
 * the server begins the statement before its deadline or not at all, and ends it by then: a write answered with 503 must
 * not happen later, whatever becomes of this process or the network. Only a commit that has begun goes on.
 *
 * The deadline is one of the server's clock. The estimate of that clock is never ahead, so a deadline passes there before
 * it passes here. If one of the two clocks was set or stood still, statements come too late for the server: then the
 * connection is replaced, and the next one has the right time.
 */
export class WritePool extends StatementPool {
  private readonly clocks = new WeakMap<PoolClient, Clock>();

  constructor(pool: Pool, limits: TimeLimits) {
    super(pool, 1, limits);
    // On each new connection the server's clock is read first.
    pool.options.verify = (client, done) => {
      const stop = afterIo(limits.sendMs, () => (client as StatementClient).cut());
      this.readClock(client, (error) => {
        stop();
        done(error ?? undefined);
      });
    };
  }

  protected override guard(client: StatementClient, [{ requested }]: readonly Work[]): BoundStatement {
    const { time, readAt } = this.clocks.get(client)!;
    // It is answered before what follows.
    if (performance.now() - readAt > CLOCK_AGE_MS) this.readClock(client, () => undefined);
    const deadline = time + (requested + this.limits.deadlineMs - readAt);
    return { statement: DEADLINE, values: [`${deadline}`] };
  }

  protected override isUnfit(error: Error, batch: StatementBatch): boolean {
    return batch.isRefused || super.isUnfit(error, batch);
  }

  private readClock(client: PoolClient, callback: (error: Error | null) => void): void {
    client.query(CLOCK, (error: Error | null, result?: QueryResult<{ now: number }>) => {
      if (result) this.clocks.set(client, { time: result.rows[0].now, readAt: performance.now() });
      callback(error);
    });
  }
}
