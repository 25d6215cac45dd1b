import { DatabaseError, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import type { TimeLimits } from '#platform/postgres/budget';
import type { DatabaseClient } from '#platform/postgres/database-pool';
import { noteStatement } from '#platform/postgres/refused-input';
import type { BoundStatement, Statement } from '#platform/postgres/statement';
import { StatementBatch } from '#platform/postgres/statement-batch';
import {
  DatabaseUnavailable,
  LOCKED,
  OutcomeUnknown,
  StatementSkipped,
  codeOf,
  isRepeatable,
  retiresConnection,
} from '#platform/postgres/unavailable';
import { afterIo } from '#platform/timing/waits';

/** Statements that may wait to be sent. More would be answered too late. */
export const MAX_WAITING = 1000;
/** Reads in a batch. */
export const READ_DEPTH = 32;
/** Statements that go together although another connection is free. */
const BATCH = 4;
/** Time between two looks at what is late. */
const TICK_MS = 50;
/** Time between attempts to connect, while they fail. Each is half to one and a half times as long. */
const RECONNECT_MS = 100;
/** A switch to another server takes less. After that, statements do not wait for a connection any longer. */
const OUTAGE_MS = 6000;

export interface Work extends BoundStatement {
  /** Whether it may change something. */
  writes: boolean;
  /** As a `performance.now()`, from which the limits count. */
  requested: number;
  /** Whether it is that of several requests, so that a lock holds up one of them only. */
  isJoined?: boolean;
  callback: (error: Error | null, rows?: QueryResultRow[]) => void;
  /** Why it has to be sent again. */
  failure?: Error;
}

export type StatementClient = PoolClient & DatabaseClient;

/** A connection of the pool while it has statements to run. */
interface Connection {
  /** Undefined while the pool is connecting. */
  client?: StatementClient;
  /** Statements of the batch in flight that have no answer, in their order. */
  sent: Set<Work>;
  /** It gets no more statements and closes after its last answer. */
  retired: boolean;
  release: (destroy: boolean) => void;
}

/**
 * Calls of a statement without parameters read the same. They may share one, because all of them were requested before
 * it is sent: the answer is new enough for each.
 */
function alike(works: readonly Work[]): Work[][] {
  const groups = new Map<Statement | Work, Work[]>();
  for (const work of works) {
    const key = work.values.length === 0 ? work.statement : work;
    const group = groups.get(key);
    if (group) group.push(work);
    else groups.set(key, [work]);
  }
  return [...groups.values()];
}

/**
 * Runs statements over few connections, and fails each alone. A connection has one batch in flight, which is one
 * transaction. What comes meanwhile is the next batch, so the batches grow with the load, and one costs the server and
 * this process far less than its statements alone would. Without load a connection carries one statement and returns to
 * the pool of `pg`.
 */
export class StatementPool {
  private connections: Connection[] = [];
  /** Statements that wait, in the order of their requests. */
  protected readonly queue: Work[] = [];
  private turn?: NodeJS.Immediate;
  private isWatching = false;
  private succeededAt = -Infinity;
  /** No connection could be made since then. */
  private outage?: { since: number; reason: Error };
  /** When the next connection may be made. */
  private retryAt = 0;

  /** @param depth maximum number of statements that a connection carries at a time */
  constructor(
    readonly pool: Pool,
    private readonly depth: number,
    readonly limits: TimeLimits,
  ) {}

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
    { writes = true, requested = performance.now(), isJoined }: Partial<Work> = {},
  ): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const callback: Work['callback'] = (error, rows) => (error ? reject(error) : resolve(rows as Row[]));
      if (this.queue.length >= MAX_WAITING)
        return callback(new DatabaseUnavailable('too many statements are waiting'));
      this.enqueue({ statement, values, writes, requested, isJoined, callback });
    });
  }

  protected take(most: number): Work[] {
    return this.queue.splice(0, most);
  }

  /** The statement that precedes a batch. If it fails, nothing of the batch is begun. */
  protected guard(_client: StatementClient, _works: readonly Work[]): BoundStatement | undefined {
    return undefined;
  }

  protected isUnfit(error: Error, _batch: StatementBatch): boolean {
    return retiresConnection(codeOf(error));
  }

  /** Sends a failed statement again, if it only reads and its connection was lost, or it was certainly not done. */
  protected retry(work: Work, error: Error, isLost: boolean): boolean {
    if (error instanceof OutcomeUnknown || performance.now() >= work.requested + this.limits.resendMs)
      return false;
    const code = codeOf(error);
    // No statement has succeeded since, as while commits wait for a new standby.
    const isStalled = code === LOCKED && !work.isJoined && this.succeededAt < work.requested;
    if (!isLost && !(error instanceof StatementSkipped) && !isRepeatable(code) && !isStalled) return false;
    this.enqueue(Object.assign(work, { failure: error }));
    return true;
  }

  /** Behind those that were requested earlier, so that one that is sent again does not lose its turn. */
  private enqueue(work: Work): void {
    let index = this.queue.length;
    while (index > 0 && this.queue[index - 1].requested > work.requested) index--;
    this.queue.splice(index, 0, work);
    this.watch();
    this.attend();
  }

  /** Opens connections for statements that wait. What has come in one turn of the event loop goes together. */
  private attend(): void {
    this.turn ??= setImmediate(() => {
      this.turn = undefined;
      const wanted = Math.ceil(this.queue.length / Math.min(BATCH, this.depth)) - this.opening;
      for (let i = 0; i < wanted && this.connections.length < this.pool.options.max; i++) this.open();
    });
  }

  private get opening(): number {
    return this.connections.filter(({ client }) => !client).length;
  }

  private open(): void {
    const connection: Connection = { sent: new Set(), retired: false, release: () => undefined };
    this.connections.push(connection);
    // A callback, because a promise costs more than the step.
    const connect = (): void =>
      this.pool.connect((error, client, release) => {
        if (error || !client) return this.failed(connection, error!);
        this.outage = undefined;
        // The others wait for connections that are still opening.
        const share = Math.max(Math.ceil(this.queue.length / this.opening), BATCH);
        Object.assign(connection, { client, release });
        this.fill(connection, share);
      });
    const pause = this.retryAt - performance.now();
    if (pause > 0) setTimeout(connect, pause);
    else connect();
  }

  /** Statements wait for another connection, but not in a long outage. */
  private failed(connection: Connection, reason: Error): void {
    connection.retired = true;
    const { since } = (this.outage = { since: performance.now(), ...this.outage, reason });
    this.delay();
    const isLong = performance.now() - since > OUTAGE_MS;
    const isConnected = this.connections.some(({ client, retired }) => client && !retired);
    if (this.pool.ending || (isLong && !isConnected))
      for (const work of this.queue.splice(0)) work.callback(reason);
    this.end(connection);
  }

  /** The next connection is likely to fail. Processes must not all come back at once. */
  private delay(): void {
    this.retryAt = performance.now() + RECONNECT_MS * (0.5 + Math.random());
  }

  /** Sends a batch of waiting statements. Ends the connection if there is none. */
  private fill(connection: Connection, most = this.depth): void {
    if (connection.sent.size > 0) return;
    const works = this.take(Math.min(most, this.depth));
    if (works.length > 0) this.send(connection, works);
    else this.end(connection);
  }

  private send(connection: Connection, works: Work[]): void {
    const client = connection.client!;
    const groups = alike(works);
    const batch: StatementBatch = new StatementBatch(
      client,
      groups.map(([work]) => work),
      (index, error, rows) => {
        const failure = error && client.describe(error, groups[index][0].writes, batch.hasCompleted);
        for (const work of groups[index]) this.settle(connection, batch, work, failure, rows);
      },
      { guard: this.guard(client, works), commits: works[0].writes },
    );
    for (const work of works) connection.sent.add(work);
    this.watch();
    client.query(batch);
  }

  /** Takes the outcome of a statement that was sent. */
  private settle(
    connection: Connection,
    batch: StatementBatch,
    work: Work,
    error: Error | null,
    rows?: QueryResultRow[],
  ): void {
    const client = connection.client!;
    connection.sent.delete(work);
    if (client.lost || (error && this.isUnfit(error, batch))) {
      connection.retired = true;
      this.delay();
    }
    if (!error) this.succeededAt = performance.now();
    else if (error instanceof DatabaseError) noteStatement(error, work.statement.text);
    // Before the connection gets the next batch.
    const isRetried = error !== null && this.retry(work, error, client.lost);
    if (!connection.retired) this.fill(connection);
    else if (connection.sent.size === 0) this.end(connection);
    if (!isRetried) work.callback(error, rows);
  }

  /** Looks for what is late while statements wait or have no answer. A timer for each of them would cost more. */
  private watch(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    afterIo(TICK_MS, () => {
      this.isWatching = false;
      this.endLate(performance.now());
      if (this.queue.length > 0 || this.connections.some(({ sent }) => sent.size > 0)) this.watch();
    });
  }

  /**
   * Refuses what waits for too long. Closes a connection whose server does not answer in time: its statements fail, but
   * those that only read are sent again while there is time.
   */
  private endLate(now: number): void {
    for (const { client, sent } of this.connections)
      if ([...sent].some(({ requested }) => requested + this.limits.answerMs <= now)) client!.cut();
    while (this.queue.length > 0 && this.queue[0].requested + this.limits.resendMs <= now) {
      const { failure, callback } = this.queue.shift()!;
      const reason = failure ?? this.outage?.reason;
      callback(reason ?? new DatabaseUnavailable('all database connections are busy'));
    }
  }

  private end(connection: Connection): void {
    this.connections = this.connections.filter((each) => each !== connection);
    connection.release(connection.retired);
    if (this.queue.length > 0) this.attend();
  }
}
