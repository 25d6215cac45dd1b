import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import type { DatabaseClient } from './database-pool';
import { GuardedQuery, ServerClock } from './deadline';
import { Outage } from './outage';
import type { Statement } from './statement';
import {
  CONNECTION_ENDS,
  DatabaseUnavailable,
  LOCKED,
  NOT_PREPARED,
  OutcomeUnknown,
  REPEATABLE,
} from './unavailable';
import { LIMITS, type Work, WorkQueue, afterIo, older } from './work-queue';

/** Statements that may wait to be sent. More would be answered too late. */
const MAX_WAITING = 1000;

/** A connection of the pool while it has statements to run. */
interface PipelinedConnection {
  /** Undefined while the pool is connecting. */
  client?: PoolClient & DatabaseClient & { connection: { parsedStatements: Record<string, string> } };
  clock?: ServerClock;
  /** Statements without an answer, in the order they were sent. */
  sent: Set<Work>;
  /** Statements being prepared on this connection. Others of the same name would fail with them. */
  preparing: Set<string>;
  /** It gets no more statements and closes after its last answer. */
  retired: boolean;
  release: (destroy: boolean) => void;
  /** Waits for the answer to the oldest statement. */
  watchdog?: { timer: NodeJS.Timeout; oldest: Work };
}

export interface PipelineOptions {
  /** Maximum number of connections. */
  width: number;
  /** Maximum number of statements in flight on each connection. */
  depth: number;
  /**
   * Whether statements end on the server by their deadline: for writes, because a write answered with 503 must not
   * happen later.
   */
  guarded: boolean;
}

/**
 * Sends statements over few connections without waiting for earlier answers (PostgreSQL's pipelining). Under load one
 * system call carries several statements, and the server switches between fewer processes, which costs more than the
 * statements. Each statement is a transaction of its own and fails alone. Without load a connection carries one
 * statement and returns to the pool.
 */
export class PipelinedPool {
  private connections: PipelinedConnection[] = [];
  private readonly clocks = new WeakMap<PoolClient, ServerClock>();
  private readonly outage = new Outage();
  private readonly queue: WorkQueue;
  private succeededAt = -Infinity;

  constructor(
    private readonly pool: Pool,
    private readonly options: PipelineOptions,
    private readonly limits = LIMITS,
  ) {
    this.queue = new WorkQueue(limits, this.outage, (work) => this.isStalled(work));
  }

  /** Statements that are not sent yet. */
  get waiting(): number {
    return this.queue.length;
  }

  /**
   * Sends a statement again, while there is time, when its connection is lost, if it only reads or was certainly not
   * done.
   * @param writes whether it may change something
   * @param requested as a `performance.now()`, from which the limits count
   * @throws OutcomeUnknown if it may have been done, or may still be until the deadline; DatabaseUnavailable, or pg's
   * DatabaseError. After these a guarded statement was not done and will not be.
   */
  run<Row extends QueryResultRow>(
    statement: Statement,
    values: unknown[],
    writes = true,
    requested = performance.now(),
  ): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const work: Work = {
        statement,
        values,
        writes,
        requested,
        callback: (error, result) => (error ? reject(error) : resolve(result!.rows as Row[])),
      };
      const connection = this.connections.length < this.options.width ? undefined : this.leastBusy(work);
      if (connection) this.send(connection, work);
      else if (this.queue.length < MAX_WAITING) this.enqueue(work);
      else reject(new DatabaseUnavailable('too many statements are waiting'));
    });
  }

  /** Chooses the least busy connection, so that a slow statement delays few others. */
  private leastBusy(work: Work): PipelinedConnection | undefined {
    let best: PipelinedConnection | undefined;
    for (const each of this.connections)
      if (this.takes(each, work) && !(best && best.sent.size <= each.sent.size)) best = each;
    return best;
  }

  private takes({ client, retired, sent, preparing }: PipelinedConnection, { statement }: Work): boolean {
    return (
      client?.lost === false && !retired && sent.size < this.options.depth && !preparing.has(statement.name)
    );
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
    if (this.connections.length < this.options.width) this.open();
  }

  private open(): void {
    const connection: PipelinedConnection = {
      sent: new Set(),
      preparing: new Set(),
      retired: false,
      release: () => undefined,
    };
    this.connections.push(connection);
    const opened = (error: Error | null, client: PoolClient): void => {
      if (error) return this.failed(connection, error);
      this.outage.over();
      const opening = this.connections.filter((each) => !each.client).length;
      connection.client = client as NonNullable<PipelinedConnection['client']>;
      connection.clock = this.clocks.get(client);
      // The others wait for connections that are still opening.
      this.fill(connection, Math.ceil(this.queue.length / opening));
    };
    // Callbacks, because the driver's promises around each of the two steps cost more than the steps.
    const connect = (): void =>
      this.pool.connect((error, client, release) => {
        if (error || !client) return this.failed(connection, error!);
        connection.release = release;
        if (!this.options.guarded || this.clocks.has(client)) return opened(null, client);
        ServerClock.read(client, (failed, clock) => {
          this.clocks.set(client, clock);
          const error = failed && new DatabaseUnavailable('no answer on a new connection', { cause: failed });
          opened(error, client);
        });
      });
    const { pause } = this.outage;
    if (pause > 0) setTimeout(connect, pause);
    else connect();
  }

  /** Statements wait for another connection, but not in a long outage. */
  private failed(connection: PipelinedConnection, error: Error): void {
    connection.retired = true;
    this.outage.failed(error);
    if (this.pool.ending || (this.outage.isLong && !this.isConnected)) this.queue.refuseAll(error);
    this.end(connection);
  }

  private fill(connection: PipelinedConnection, most: number): void {
    for (let i = 0; i < most && connection.sent.size < this.options.depth; i++) {
      const work = this.queue.take((each) => this.takes(connection, each));
      if (!work) break;
      this.send(connection, work);
    }
    if (connection.sent.size === 0) this.end(connection);
  }

  private send(connection: PipelinedConnection, work: Work): void {
    const { client, clock, sent, preparing, watchdog } = connection;
    const { statement, values, writes, requested } = work;
    const { name, text } = statement;
    const first = client!.connection.parsedStatements[name] === undefined;
    if (first) preparing.add(name);
    sent.add(work);
    if (!watchdog || requested < watchdog.oldest.requested) this.watch(connection, work);
    const answered = (error: Error | null, result?: QueryResult): void => {
      sent.delete(work);
      if (first) preparing.delete(name);
      const completed = guarded?.completed ?? false;
      this.settle(connection, work, error && client!.describe(error, { writes, completed }), result);
    };
    const query = { name, text, values };
    const guarded = clock && new GuardedQuery(query, clock, requested + this.limits.deadlineMs, answered);
    if (guarded) client!.query(guarded);
    else client!.query(query, answered);
  }

  private settle(
    connection: PipelinedConnection,
    work: Work,
    error: Error | null,
    result?: QueryResult,
  ): void {
    const client = connection.client!;
    const cause = error instanceof OutcomeUnknown ? error.cause : error;
    const { code = '' } = (cause ?? {}) as { code?: string };
    if (client.lost || CONNECTION_ENDS.test(code)) {
      connection.retired = true;
      if (code !== NOT_PREPARED || work.failure) this.outage.delay();
    }
    if (!error) this.succeededAt = performance.now();
    const isUndone =
      REPEATABLE.test(code) || (code === LOCKED && this.isStalled(work)) || (error !== null && client.lost);
    const inTime = performance.now() < work.requested + this.limits.resendMs;
    const repeat = isUndone && inTime && !(error instanceof OutcomeUnknown);
    if (repeat) {
      work.failure = error!;
      this.enqueue(work);
    }
    if (!connection.retired) this.fill(connection, this.options.depth);
    else if (connection.sent.size === 0) this.end(connection);
    if (repeat) return;
    if (client.takeUnreplicated()) work.callback(new OutcomeUnknown('the commit is not on a standby yet'));
    else work.callback(error, result);
  }

  /** Closes the connection when the server does not answer in time. All its statements then fail. */
  private watch(connection: PipelinedConnection, oldest: Work): void {
    clearTimeout(connection.watchdog?.timer);
    const timer = afterIo(oldest.requested + this.limits.answerMs - performance.now(), () => {
      if (connection.watchdog?.timer !== timer) return;
      connection.watchdog = undefined;
      const sent = [...connection.sent];
      if (sent.includes(oldest)) connection.client!.cut();
      else if (sent.length > 0) this.watch(connection, sent.reduce(older));
    });
    connection.watchdog = { timer, oldest };
  }

  private end(connection: PipelinedConnection): void {
    clearTimeout(connection.watchdog?.timer);
    this.connections = this.connections.filter((each) => each !== connection);
    connection.release(connection.retired);
    if (this.queue.length > 0) this.open();
  }
}
