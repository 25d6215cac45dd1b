import { type PoolClient, Query, type QueryConfig, type QueryResult } from 'pg';
import { DatabaseUnavailable } from './unavailable';

/** After this time the server's clock is asked again. */
const CLOCK_AGE_MS = 30_000;
/** For a new connection to say what time it is. */
const CLOCK_TIMEOUT_MS = 1500;

const CLOCK = {
  name: 'server_clock',
  text: `SELECT date_part('epoch', clock_timestamp()) * 1000 AS now`,
  query_timeout: CLOCK_TIMEOUT_MS,
};

/**
 * Fails when the deadline, in ms of the server's clock since 1970, has passed, and else gives the statement behind it
 * until then: -1 is outside the setting's range, and 0 would switch the timeout off. Answers no row.
 */
const DEADLINE = {
  name: 'statement_deadline',
  text: `
    SELECT WHERE set_config('statement_timeout', coalesce(nullif(least(greatest(
      floor($1::float8 - date_part('epoch', clock_timestamp()) * 1000), -1), 1e9), 0), -1)::int::text, true) = ''`,
  query_timeout: CLOCK_TIMEOUT_MS,
};
const OUT_OF_RANGE = '22023';

/**
 * The clock of a connection's server, in which deadlines are given to it. What it says is never ahead of that clock,
 * so a deadline passes on the server before it passes here.
 */
export class ServerClock {
  private time = 0;
  /** Of `performance.now()`, when the answer came: later than the server looked at its clock. */
  private readAt = 0;
  private refreshAt = Infinity;

  private constructor(private readonly client: PoolClient) {}

  /** Asks a new connection for the time, and prepares the guard on it. */
  static read(client: PoolClient, callback: (error: Error | null, clock: ServerClock) => void): void {
    const clock = new ServerClock(client);
    let failed: Error | null = null;
    // Sent at once, answered in order.
    clock.ask((error) => (failed = error));
    client.query({ ...DEADLINE, values: ['Infinity'] }, (error: Error | null) =>
      callback(failed ?? error, clock),
    );
  }

  /** The server's time at one of `performance.now()`. */
  at(time: number): number {
    if (performance.now() > this.refreshAt) this.ask(() => undefined);
    return this.time + (time - this.readAt);
  }

  /** One of the two clocks was set, or stood still: the server is asked before the next use. */
  doubt(): void {
    this.refreshAt = -Infinity;
  }

  private ask(callback: (error: Error | null) => void): void {
    this.refreshAt = Infinity;
    this.client.query(CLOCK, (error: Error | null, result?: QueryResult<{ now: number }>) => {
      if (result) {
        this.time = result.rows[0].now;
        this.readAt = performance.now();
      }
      this.refreshAt = this.readAt + CLOCK_AGE_MS;
      callback(error);
    });
  }
}

/** What pg's query has beside its public types. */
interface QueryInternals {
  prepare(connection: Connection): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
}
interface Connection {
  bind(portal: { portal: string; statement: string; values: string[]; binary: boolean }): void;
  execute(portal: { portal: string; rows: number }): void;
}
type Callback = (error: Error | null, result?: QueryResult) => void;

const PgQuery = Query as unknown as new (config: QueryConfig, callback: Callback) => Query & QueryInternals;

/**
 * A statement that the server begins before its deadline or not at all, and that it ends by then. The guard goes
 * ahead of it in the same transaction, since there is no Sync between the two: where it fails, the server skips the
 * statement. So whatever happens to this process or the network, nothing is done after the deadline, but for a commit
 * that had begun.
 */
export class GuardedQuery extends PgQuery {
  private begun = false;

  /** @param deadline of `performance.now()` */
  constructor(
    config: QueryConfig,
    private readonly clock: ServerClock,
    private readonly deadline: number,
    callback: Callback,
  ) {
    super(config, (error, result) => callback(error && this.describe(error), result));
  }

  override prepare(connection: Connection): void {
    const values = [`${this.clock.at(this.deadline)}`];
    connection.bind({ portal: '', statement: DEADLINE.name, values, binary: false });
    connection.execute({ portal: '', rows: 0 });
    super.prepare(connection);
  }

  /** The first is the guard's. */
  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.begun) super.handleCommandComplete(message, connection);
    this.begun = true;
  }

  private describe(error: Error & { code?: string }): Error {
    if (this.begun || error.code !== OUT_OF_RANGE) return error;
    this.clock.doubt();
    return new DatabaseUnavailable('too late to begin the statement', { cause: error });
  }
}
