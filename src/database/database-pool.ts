import type { Socket } from 'node:net';
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import { DatabaseUnavailable } from './unavailable';

type Release = (destroy?: Error | boolean) => void;
type ConnectCallback = (error: Error | undefined, client: PoolClient | undefined, release: Release) => void;

/** pg's client with the overloads of `query` as one, and with the socket that its types omit. */
const PgClient = Client as unknown as new (config?: PoolConfig) => Omit<Client, 'query'> & {
  query(...args: unknown[]): unknown;
  readonly connection: { readonly stream: Socket };
};

/** A connection that knows when it is lost. pg reports this by errors that differ from others only in their text. */
export class DatabaseClient extends PgClient {
  private isLost = false;

  constructor(config?: PoolConfig) {
    super(config);
    // pg emits this before it fails the statements. Without a listener it would end the process.
    this.on('error', () => (this.isLost = true));
  }

  get lost(): boolean {
    return this.isLost;
  }

  /** Ends the connection at once, without telling the server. */
  cut(): void {
    this.isLost = true;
    this.connection.stream.destroy();
  }

  /** The error of a failed statement: `DatabaseUnavailable` if its connection was lost. */
  describe(error: Error): Error {
    return this.isLost ? new DatabaseUnavailable('database connection lost', { cause: error }) : error;
  }

  /** As pg's `query`, but the promise, which TypeORM uses, rejects with the error of `describe`. */
  override query(...args: unknown[]): unknown {
    const result = super.query(...args);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: Error) => {
      throw this.describe(error);
    });
  }
}

/** A pool of such connections. When it cannot give one, it throws `DatabaseUnavailable`. */
export class DatabasePool extends Pool {
  constructor(options: PoolConfig) {
    super({ ...options, Client: DatabaseClient as unknown as PoolConfig['Client'] });
    // An idle connection that ends has left the pool. The next request gets another one.
    this.on('error', () => undefined);
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

const unreachable = (cause: Error): Error =>
  new DatabaseUnavailable('no connection to the database', { cause });
