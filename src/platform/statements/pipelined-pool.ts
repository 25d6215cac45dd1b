import { DatabaseError, type QueryResult, type QueryResultRow } from 'pg';
import type { TimeLimits } from '#platform/postgres/budget';
import { isParsed, onceUndone } from '#platform/postgres/pg-internals';
import type { BoundStatement } from '#platform/postgres/statement';
import { StatementBatch } from '#platform/postgres/statement-batch';
import { DatabaseUnavailable, OUT_OF_RANGE, StatementSkipped } from '#platform/postgres/unavailable';
import { afterIo } from '#platform/timing/waits';
import { type StatementClient, type StatementConnection, StatementPool, codeOf } from './statement-pool';
import type { Work } from './work-queue';

/** The server's clock is read again after this time. */
const CLOCK_AGE_MS = 30_000;

const CLOCK = {
  name: 'server_clock',
  text: `SELECT date_part('epoch', clock_timestamp()) * 1000 AS now`,
};

/**
 * Limits the next statement to the time that is left until the deadline, in ms of the server's clock since 1970:
 * - too late: -1, which is outside the setting's range, so this fails with 22023
 * - no time left, to the ms: that would be 0, which switches the timeout off, so also -1
 * - otherwise the ms that are left
 *
 * Returns no row.
 */
const DEADLINE = {
  name: 'statement_deadline',
  text: `
    SELECT WHERE set_config('statement_timeout', coalesce(nullif(least(greatest(
      floor($1::float8 - date_part('epoch', clock_timestamp()) * 1000), -1), 1e9), 0), -1)::int::text, true) = ''`,
};

/** What a connection needs to know for sending statements. */
interface Pipeline {
  clock: ServerClock;
  /** Statements being prepared on this connection. Others of the same name would fail with them. */
  preparing: Set<string>;
}

/**
 * For statements that write. It sends them without waiting for earlier answers (PostgreSQL's pipelining), each as a
 * transaction of its own, and guarded: they end on the server by their deadline, because a write answered with 503 must
 * not happen later.
 */
export class PipelinedPool extends StatementPool {
  private readonly pipelines = new WeakMap<StatementClient, Pipeline>();

  /** On the least busy connection, so that a slow statement delays few others. */
  protected override sendAtOnce(work: Work): boolean {
    if (this.connections.length < this.size.width) return false;
    let best: StatementConnection | undefined;
    for (const each of this.connections)
      if (this.takes(each, work) && !(best && best.sent.size <= each.sent.size)) best = each;
    if (best) this.send(best, work);
    return best !== undefined;
  }

  protected attend(): void {
    if (this.connections.length < this.size.width) this.open();
  }

  protected override prepare(client: StatementClient, ready: (error: Error | null) => void): void {
    if (this.pipelines.has(client)) return ready(null);
    ServerClock.read(client, this.limits, (cause, clock) => {
      this.pipelines.set(client, { clock, preparing: new Set() });
      ready(cause && new DatabaseUnavailable('no answer on a new connection', { cause }));
    });
  }

  protected fill(connection: StatementConnection, most: number): void {
    for (let i = 0; i < most; i++) {
      const work = this.queue.take((each) => this.takes(connection, each));
      if (!work) break;
      this.send(connection, work);
    }
    if (connection.sent.size === 0) this.end(connection);
  }

  private takes({ client, retired, sent }: StatementConnection, { statement }: Work): boolean {
    if (!client || client.lost || retired || sent.size >= this.size.depth) return false;
    return !this.pipelines.get(client)!.preparing.has(statement.name);
  }

  private send(connection: StatementConnection, work: Work): void {
    const { sent } = connection;
    const client = connection.client!;
    const { clock, preparing } = this.pipelines.get(client)!;
    const { statement, writes, requested } = work;
    const { name } = statement;
    const first = !isParsed(client, name);
    if (first) preparing.add(name);
    sent.add(work);
    this.watch(connection, work);
    const answered: Work['callback'] = (error, rows) => {
      if (first) preparing.delete(name);
      const failure = error && client.describe(error, { writes, completed: query.hasCompleted });
      this.settle(connection, work, failure, rows);
    };
    const deadline = requested + this.limits.deadlineMs;
    const query = new GuardedQuery(work, clock, deadline, answered);
    client.query(query);
  }
}

/**
 * The clock of a connection's server, which deadlines refer to. The estimate is never ahead of the server, so a
 * deadline passes on the server before it passes here.
 */
export class ServerClock {
  private time = 0;
  /** The `performance.now()` at which the answer came, which is later than the server read its clock. */
  private readAt = 0;
  private refreshAt = Infinity;
  private isLate = false;

  private constructor(
    readonly client: StatementClient,
    private readonly limits: TimeLimits,
  ) {}

  /** Reads the clock on a new connection, once more if the answer is late, and prepares the guard on it. */
  static read(
    client: StatementClient,
    limits: TimeLimits,
    callback: (error: Error | null, clock: ServerClock) => void,
    tries = 2,
  ): void {
    const clock = new ServerClock(client, limits);
    let failed: Error | null = null;
    const stop = afterIo(limits.sendMs, () => client.cut());
    // Sent together, answered in order.
    clock.ask((error) => (failed = error));
    client.query({ ...DEADLINE, values: ['Infinity'] }, (error: Error | null) => {
      stop();
      const failure = failed ?? error;
      if (!failure && clock.isLate && tries > 1) ServerClock.read(client, limits, callback, tries - 1);
      else callback(failure, clock);
    });
  }

  /** The server's time at a given `performance.now()`. */
  at(time: number): number {
    if (performance.now() > this.refreshAt) this.ask(() => undefined);
    return this.time + (time - this.readAt);
  }

  /** One of the two clocks was set or stood still, so the estimate is wrong. The next use reads the clock again. */
  doubt(): void {
    this.refreshAt = -Infinity;
  }

  private ask(callback: (error: Error | null) => void): void {
    this.refreshAt = Infinity;
    const asked = performance.now();
    this.client.query(CLOCK, (error: Error | null, result?: QueryResult<{ now: number }>) => {
      if (result) {
        this.time = result.rows[0].now;
        this.readAt = performance.now();
        // The estimate may be so far behind that a statement that is sent again at the latest moment has no time.
        this.isLate = this.readAt - asked > this.limits.deadlineMs - this.limits.resendMs;
      }
      this.refreshAt = this.isLate ? -Infinity : this.readAt + CLOCK_AGE_MS;
      callback(error);
    });
  }
}

/**
 * A statement that the server starts before its deadline or not at all, and ends by then. A guard precedes it in the
 * same transaction, with no Sync between the two: if the guard fails, the server skips the statement. So nothing
 * happens after the deadline, whatever becomes of this process or the network. Only a commit that has begun goes on.
 */
class GuardedQuery extends StatementBatch {
  /** Whether the server has reported the statement's completion, so that only its commit is left. */
  hasCompleted = false;
  private answer: Parameters<Work['callback']> = [null];

  /**
   * @param deadline as a `performance.now()`
   * @param ended is called once; if the statement succeeds, after its commit
   */
  constructor(
    work: BoundStatement,
    private readonly clock: ServerClock,
    deadline: number,
    private ended: Work['callback'],
  ) {
    const guard = { statement: DEADLINE, values: [`${clock.at(deadline)}`] };
    super(clock.client, [work], (_index, error, rows) => this.note(error, rows), guard);
  }

  override handleReadyForQuery(): void {
    super.handleReadyForQuery();
    this.end();
  }

  /** Also when the commit fails, or the connection is lost in it. What is tried again then must not meet its own locks. */
  override handleError(error: Error): void {
    this.answer = [error];
    super.handleError(error);
    if (error instanceof DatabaseError) onceUndone(this.clock.client, () => this.end());
    else this.end();
  }

  private note(error: Error | null, rows?: QueryResultRow[]): void {
    this.hasCompleted = rows !== undefined;
    if (!(error instanceof StatementSkipped)) this.answer = [error, rows];
    else if (codeOf(error) === OUT_OF_RANGE) {
      this.clock.doubt();
      this.answer = [new DatabaseUnavailable('too late to begin the statement', { cause: error.cause })];
    }
  }

  private end(): void {
    const { ended } = this;
    this.ended = () => undefined;
    ended(...this.answer);
  }
}
