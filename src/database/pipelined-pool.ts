import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import type { DatabaseClient } from './database-pool';
import { GuardedQuery, ServerClock } from './deadline';
import type { Statement } from './statement';
import { DatabaseUnavailable } from './unavailable';

/** Statements that may wait to be sent. More would be answered too late. */
const MAX_WAITING = 1000;

/** Limits in ms from the request for a statement. */
export interface TimeLimits {
  /** It is sent by then or never. */
  sendMs: number;
  /** A guarded statement is done by then or never. */
  deadlineMs: number;
  /** It is answered by then. This is after the deadline, so that the server can report what happened. */
  answerMs: number;
}
/** Together with the rest of a request this stays below 5 s. */
const LIMITS: TimeLimits = { sendMs: 1500, deadlineMs: 3500, answerMs: 4500 };

/** Reads what has arrived before a timeout counts, because in a busy process timers run before sockets. */
const afterIo = (ms: number, callback: () => void): NodeJS.Timeout =>
  setTimeout(() => setImmediate(callback), ms);

/** After these errors the connection is not used again: shutdown, crash, a demoted server, a missing statement. */
const CONNECTION_ENDS = /^(08...|25006|26000|57P..)$/;
/** A prepared statement is missing, as poolers lose them. Nothing was done, so it can be sent again. */
const NOT_PREPARED = '26000';

interface Work {
  statement: Statement;
  values: unknown[];
  requested: number;
  callback: (error: Error | null, result?: QueryResult) => void;
  timeout?: NodeJS.Timeout;
  repeated?: boolean;
}

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
  watchdog?: NodeJS.Timeout;
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
  private readonly queue: Work[] = [];
  private readonly clocks = new WeakMap<PoolClient, ServerClock>();

  constructor(
    private readonly pool: Pool,
    private readonly options: PipelineOptions,
    private readonly limits = LIMITS,
  ) {}

  /** Statements that are not sent yet. */
  get waiting(): number {
    return this.queue.length;
  }

  /**
   * @throws DatabaseUnavailable, or pg's DatabaseError. A guarded statement that failed was not done and will not be,
   * unless its connection was lost: then the server may still do it until the deadline.
   */
  run<Row extends QueryResultRow>(statement: Statement, values: unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const work: Work = {
        statement,
        values,
        requested: performance.now(),
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
      client !== undefined && !retired && sent.size < this.options.depth && !preparing.has(statement.name)
    );
  }

  private enqueue(work: Work): void {
    work.timeout = afterIo(this.limits.sendMs, () => {
      const index = this.queue.indexOf(work);
      if (index < 0) return;
      this.queue.splice(index, 1);
      work.callback(new DatabaseUnavailable('all database connections are busy'));
    });
    this.queue.push(work);
    if (this.connections.length < this.options.width) this.open();
  }

  private dequeue(index = 0): Work | undefined {
    const [work] = this.queue.splice(index, 1);
    clearTimeout(work?.timeout);
    return work;
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
      const opening = this.connections.filter((each) => !each.client).length;
      connection.client = client as NonNullable<PipelinedConnection['client']>;
      connection.clock = this.clocks.get(client);
      // The others wait for connections that are still opening.
      this.fill(connection, Math.ceil(this.queue.length / opening));
    };
    // Callbacks, because the driver's promises around each of the two steps cost more than the steps.
    this.pool.connect((error, client, release) => {
      if (error || !client) return this.failed(connection, error!);
      connection.release = release;
      if (!this.options.guarded || this.clocks.has(client)) return opened(null, client);
      ServerClock.read(client, (failed, clock) => {
        this.clocks.set(client, clock);
        opened(failed && new DatabaseUnavailable('no answer on a new connection', { cause: failed }), client);
      });
    });
  }

  /** One statement gets the error; the others try for themselves. */
  private failed(connection: PipelinedConnection, error: Error): void {
    connection.retired = true;
    this.dequeue()?.callback(error);
    this.end(connection);
  }

  private fill(connection: PipelinedConnection, most: number): void {
    for (let i = 0; i < most; i++) {
      const index = this.queue.findIndex((work) => this.takes(connection, work));
      if (index < 0) break;
      this.send(connection, this.dequeue(index)!);
    }
    if (connection.sent.size === 0) this.end(connection);
  }

  private send(connection: PipelinedConnection, work: Work): void {
    const { client, clock, sent, preparing } = connection;
    const { statement, values, requested } = work;
    const { name, text } = statement;
    const first = client!.connection.parsedStatements[name] === undefined;
    if (first) preparing.add(name);
    sent.add(work);
    connection.watchdog ??= this.watch(connection);
    const answered = (error: Error | null, result?: QueryResult): void => {
      sent.delete(work);
      if (first) preparing.delete(name);
      this.settle(connection, work, error && client!.describe(error), result);
    };
    const query = { name, text, values };
    if (clock) client!.query(new GuardedQuery(query, clock, requested + this.limits.deadlineMs, answered));
    else client!.query(query, answered);
  }

  private settle(
    connection: PipelinedConnection,
    work: Work,
    error: Error | null,
    result?: QueryResult,
  ): void {
    const { code } = (error ?? {}) as { code?: string };
    if (connection.client!.lost || CONNECTION_ENDS.test(code ?? '')) connection.retired = true;
    const repeat = code === NOT_PREPARED && !work.repeated;
    if (repeat) {
      work.repeated = true;
      this.enqueue(work);
    }
    if (!connection.retired) this.fill(connection, this.options.depth);
    else if (connection.sent.size === 0) this.end(connection);
    if (!repeat) work.callback(error, result);
  }

  /** Closes the connection when the server does not answer in time. All its statements then fail. */
  private watch(connection: PipelinedConnection): NodeJS.Timeout {
    const [oldest] = connection.sent;
    const left = oldest.requested + this.limits.answerMs - performance.now();
    return afterIo(left, () => {
      connection.watchdog = undefined;
      const [next] = connection.sent;
      if (next === oldest) connection.client!.cut();
      else if (next) connection.watchdog = this.watch(connection);
    });
  }

  private end(connection: PipelinedConnection): void {
    clearTimeout(connection.watchdog);
    this.connections = this.connections.filter((each) => each !== connection);
    connection.release(connection.retired);
    if (this.queue.length > 0) this.open();
  }
}
