import { DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg';
import { PgClient, onServerError } from './pg-internals';
import { DatabaseUnavailable, OutcomeUnknown, endsSession, tellsNothing } from './unavailable';

type Release = (destroy?: Error | boolean) => void;
type ConnectCallback = (error: Error | undefined, client: PoolClient | undefined, release: Release) => void;

/** A connection that knows when it is lost. pg reports this by errors that differ from others only in their text. */
export class DatabaseClient extends PgClient {
  lost = false;
  private endedByServer = false;
  /** Set by the pool. */
  inUse = false;

  constructor(config?: PoolConfig) {
    super(config);
    onServerError(this, ({ code }) => {
      if (endsSession(code)) this.endedByServer = true;
    });
  }

  /** Ends the connection at once, without telling the server. */
  cut(): void {
    this.lost = true;
    this.connection.stream.destroy();
  }

  /**
   * pg emits `error` first, then fails the statements in flight. While the connection is in use it is kept from
   * listeners: the failed statements tell their callers, and TypeORM's own listener would hide the cause. Without any
   * listener Node would end the process.
   */
  override emit(event: string, ...args: unknown[]): boolean {
    if (event === 'error') this.lost = true;
    const isHandled = event === 'error' && (this.inUse || this.listenerCount('error') === 0);
    return isHandled || super.emit(event, ...args);
  }

  /**
   * What the caller of a failed statement learns:
   * - `OutcomeUnknown`, if it writes and may have been done
   * - `DatabaseUnavailable`, if the connection was lost
   * - otherwise the error itself
   *
   * It was not done if the server says so in its error (a pooler's connection exception is none), or if the server
   * ended the session by itself before the statement had completed.
   * @param completed whether the server had reported its completion, so that only the commit was left
   */
  describe(error: Error, writes: boolean, completed: boolean): Error {
    const isAnswer = error instanceof DatabaseError && !tellsNothing(error.code);
    const isUndone = this.endedByServer ? !completed : isAnswer;
    if (writes && !isUndone && (this.lost || error instanceof DatabaseError))
      return new OutcomeUnknown('database connection lost during a write', { cause: error });
    return this.lost ? new DatabaseUnavailable('database connection lost', { cause: error }) : error;
  }

  /** As pg's `query`, but the promise, which TypeORM uses, rejects with the error of `describe`. */
  override query(...args: unknown[]): unknown {
    const wasLost = this.lost;
    const result = super.query(...args);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: Error) => {
      // Whether the statement writes, and when it completes, is not known here. `Transactions` knows whether it commits.
      throw this.describe(error, !wasLost, true);
    });
  }
}

/** A pool of such connections. When it cannot give one, it throws `DatabaseUnavailable`. */
export class DatabasePool extends Pool {
  constructor(options: PoolConfig) {
    super({ Client: DatabaseClient as unknown as PoolConfig['Client'], ...options });
    // An idle connection that ends has left the pool. The next request gets another one.
    this.on('error', () => undefined);
    this.on('acquire', (client) => ((client as PoolClient & DatabaseClient).inUse = true));
    this.on('release', (_, client) => ((client as PoolClient & DatabaseClient).inUse = false));
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | void {
    if (callback)
      return super.connect((error, client, release) =>
        callback(error && unreachable(error), client, release),
      );
    return super.connect().catch((error: Error) => {
      throw unreachable(error);
    });
  }
}

const unreachable = (cause: Error & { code?: string }): Error =>
  // An error of several addresses has no message of its own.
  new DatabaseUnavailable(`no connection to the database: ${cause.message || cause.code}`, { cause });
