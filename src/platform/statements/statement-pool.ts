import { DatabaseError, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import type { TimeLimits } from '#platform/postgres/budget';
import type { DatabaseClient } from '#platform/postgres/database-pool';
import { noteStatement } from '#platform/postgres/refused-input';
import type { Statement } from '#platform/postgres/statement';
import {
  DatabaseUnavailable,
  LOCKED,
  NOT_PREPARED,
  OutcomeUnknown,
  StatementSkipped,
  isRepeatable,
  retiresConnection,
} from '#platform/postgres/unavailable';
import { afterIo } from '#platform/timing/waits';
import { Outage, type Work, WorkQueue, older } from './work-queue';

/** Statements that may wait to be sent. More would be answered too late. */
export const MAX_WAITING = 1000;

/** It may change something and is requested now, unless they say otherwise. */
export type RunOptions = Partial<Pick<Work, 'writes' | 'requested' | 'isJoined' | 'sendMs'>>;

export interface PoolSize {
  /** Maximum number of connections. */
  width: number;
  /** Maximum number of statements in flight on each connection. */
  depth: number;
}

export type StatementClient = PoolClient & DatabaseClient;

/** A connection of the pool while it has statements to run. */
export interface StatementConnection {
  /** Undefined while the pool is connecting. */
  client?: StatementClient;
  /** Statements without an answer, in the order they were sent. */
  sent: Set<Work>;
  /** It gets no more statements and closes after its last answer. */
  retired: boolean;
  release: (destroy: boolean) => void;
  /** Waits for the answer to the oldest statement. */
  watchdog?: { stop: () => void; oldest: Work };
}

/** Whether a statement that is no longer under way is answered, or waits to be sent again. */
type Fate = 'answer' | 'again';

/**
 * Runs statements over few connections, each as if in a transaction of its own, and fails each alone. Without load a
 * connection carries one statement and returns to the pool. `BatchedPool` is for statements that only read,
 * `PipelinedPool` for those that write.
 *
 * A statement is waiting, sent or answered:
 * - requested -> sent: a connection takes it at once (`sendAtOnce`)
 * - requested -> waiting: none does (`enqueue`)
 * - requested -> answered: too many wait
 * - waiting -> sent: a connection has room (`fill`)
 * - waiting -> answered: its time is over (`WorkQueue`), or nothing is left to wait for (`failed`)
 * - sent -> answered or waiting: it succeeded, failed, or lost its connection (`settle`, by `fateOf`); or it waits in
 *   another pool, for those that are slow
 *
 * A connection is opening, serving, retired or ended:
 * - nothing -> opening: statements wait (`attend`)
 * - opening -> serving: it is connected and prepared (`open`)
 * - opening -> ended: it could not be (`failed`)
 * - serving -> retired: it is lost, or its server should get no more of it (`settle`); `watch` cuts one that does not
 *   answer
 * - serving -> ended: nothing is sent or waits, so it returns to the pool (`fill`)
 * - retired -> ended: the last answer has come, so it closes (`settle`)
 */
export abstract class StatementPool {
  protected connections: StatementConnection[] = [];
  protected readonly queue: WorkQueue;
  private readonly outage = new Outage();
  private succeededAt = -Infinity;

  constructor(
    private readonly pool: Pool,
    protected readonly size: PoolSize,
    protected readonly limits: TimeLimits,
  ) {
    this.queue = new WorkQueue(limits, this.outage, (work) => this.isStalled(work));
  }

  /** Statements that are not sent yet. */
  get waiting(): number {
    return this.queue.length;
  }

  /**
   * Sends a statement. While there is time, sends it again if (a) it only reads and its connection was lost, or (b) the
   * server certainly did not do it.
   * @throws OutcomeUnknown if it may have been done, or may still be until the deadline; DatabaseUnavailable, or pg's
   * DatabaseError. After these a guarded statement was not done and will not be.
   */
  run<Row extends QueryResultRow>(
    statement: Statement,
    values: unknown[],
    { writes = true, requested = performance.now(), isJoined = false, sendMs }: RunOptions = {},
  ): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const callback: Work['callback'] = (error, rows) => (error ? reject(error) : resolve(rows as Row[]));
      this.accept({ statement, values, writes, requested, isJoined, sendMs, callback });
    });
  }

  /** As `run`. */
  accept(work: Work): void {
    if (this.sendAtOnce(work)) return;
    if (this.queue.length < MAX_WAITING) this.enqueue(work);
    else work.callback(new DatabaseUnavailable('too many statements are waiting'));
  }

  /** Sends a statement if a connection takes one more. */
  protected sendAtOnce(_work: Work): boolean {
    return false;
  }

  /** Opens connections for statements that wait. */
  protected abstract attend(): void;

  /** Prepares a connection for the first statement. */
  protected prepare(_client: StatementClient, ready: (error: Error | null) => void): void {
    ready(null);
  }

  /** Sends at most so many waiting statements. Ends the connection if it has none then. */
  protected abstract fill(connection: StatementConnection, most: number): void;

  protected get opening(): number {
    return this.connections.filter(({ client }) => !client).length;
  }

  /** Whether a connection can be waited for. */
  private get isConnected(): boolean {
    return this.connections.some(({ client, retired }) => client && !retired);
  }

  /** Whether no statement has succeeded since this one was requested, as while commits wait for a new standby. */
  private isStalled(work: Work): boolean {
    return !this.isConnected || this.succeededAt < work.requested;
  }

  private enqueue(work: Work): void {
    this.queue.add(work);
    this.attend();
  }

  protected open(): void {
    const connection: StatementConnection = { sent: new Set(), retired: false, release: () => undefined };
    this.connections.push(connection);
    // Callbacks, because the driver's promises around each of the two steps cost more than the steps.
    const connect = (): void =>
      this.pool.connect((error, client, release) => {
        if (error || !client) return this.failed(connection, error!);
        connection.release = release;
        this.prepare(client as StatementClient, (failure) => {
          if (failure) return this.failed(connection, failure);
          this.outage.over();
          // The others wait for connections that are still opening.
          const share = Math.ceil(this.queue.length / this.opening);
          connection.client = client as StatementClient;
          this.fill(connection, share);
        });
      });
    const { pause } = this.outage;
    if (pause > 0) setTimeout(connect, pause);
    else connect();
  }

  /** Statements wait for another connection, but not in a long outage. */
  private failed(connection: StatementConnection, error: Error): void {
    connection.retired = true;
    this.outage.failed(error);
    if (this.pool.ending || (this.outage.isLong && !this.isConnected)) this.queue.refuseAll(error);
    this.end(connection);
  }

  /**
   * Takes the outcome of a statement that was sent.
   * @param elsewhere passes it on to where it runs again, if that is not here
   */
  protected settle(
    connection: StatementConnection,
    work: Work,
    error: Error | null,
    rows?: QueryResultRow[],
    elsewhere?: (work: Work, error: Error) => void,
  ): void {
    const client = connection.client!;
    connection.sent.delete(work);
    this.retireIfUnfit(connection, work, error);
    if (!error) this.succeededAt = performance.now();
    else if (error instanceof DatabaseError) noteStatement(error, work.statement.text);
    const fate = elsewhere ? 'elsewhere' : this.fateOf(work, error, client.lost);
    if (fate === 'again') this.enqueue(Object.assign(work, { failure: error! }));
    if (!connection.retired) this.fill(connection, this.size.depth);
    else if (connection.sent.size === 0) this.end(connection);
    if (fate === 'again') return;
    if (elsewhere) return elsewhere(work, error!);
    if (client.takeUnreplicated()) work.callback(new OutcomeUnknown('the commit is not on a standby yet'));
    else work.callback(error, rows);
  }

  /** The next connection waits a moment, except after a pooler lost a prepared statement for the first time. */
  private retireIfUnfit(connection: StatementConnection, work: Work, error: Error | null): void {
    const code = codeOf(error);
    if (!connection.client!.lost && !retiresConnection(code)) return;
    connection.retired = true;
    if (code !== NOT_PREPARED || work.failure) this.outage.delay();
  }

  private fateOf(work: Work, error: Error | null, isLost: boolean): Fate {
    if (!error || error instanceof OutcomeUnknown) return 'answer';
    if (performance.now() >= work.requested + this.limits.resendMs) return 'answer';
    const code = codeOf(error);
    // Only reads, and what was certainly not done: otherwise the error is `OutcomeUnknown`.
    if (isLost || error instanceof StatementSkipped || isRepeatable(code)) return 'again';
    return code === LOCKED && !work.isJoined && this.isStalled(work) ? 'again' : 'answer';
  }

  /**
   * Closes the connection when the server does not answer in time. Its statements fail, but those that only read are
   * sent again while there is time.
   */
  protected watch(connection: StatementConnection, oldest: Work): void {
    const { watchdog } = connection;
    if (watchdog && watchdog.oldest.requested <= oldest.requested) return;
    watchdog?.stop();
    const stop = afterIo(oldest.requested + this.limits.answerMs - performance.now(), () => {
      connection.watchdog = undefined;
      const sent = [...connection.sent];
      if (sent.includes(oldest)) connection.client!.cut();
      else if (sent.length > 0) this.watch(connection, sent.reduce(older));
    });
    connection.watchdog = { stop, oldest };
  }

  protected end(connection: StatementConnection): void {
    connection.watchdog?.stop();
    this.connections = this.connections.filter((each) => each !== connection);
    connection.release(connection.retired);
    if (this.queue.length > 0) this.attend();
  }
}

/** The SQLSTATE of PostgreSQL's error, also of one beneath ours. */
export function codeOf(error: Error | null): string | undefined {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  return (cause as { code?: string } | null | undefined)?.code;
}
