import type { Socket } from 'node:net';
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import { DatabaseUnavailable } from './unavailable';

type Release = (destroy?: Error | boolean) => void;
type ConnectCallback = (error: Error | undefined, client: PoolClient | undefined, release: Release) => void;

/** pg's client, with its overloads of `query` in one and the socket that its types leave out. */
const PgClient = Client as unknown as new (config?: PoolConfig) => Omit<Client, 'query'> & {
  query(...args: unknown[]): unknown;
  readonly connection: { readonly stream: Socket };
};

/** A connection that knows when it is lost: pg reports that by errors that only their text tells from others. */
export class DatabaseClient extends PgClient {
  private isLost = false;

  constructor(config?: PoolConfig) {
    super(config);
    // pg emits this ahead of failing the statements; without a listener it would end the process.
    this.on('error', () => (this.isLost = true));
  }

  get lost(): boolean {
    return this.isLost;
  }

  /** Ends the connection at once, without a word to the server. */
  cut(): void {
    this.isLost = true;
    this.connection.stream.destroy();
  }

  /** What a failed statement is reported as: `DatabaseUnavailable` when it failed with its connection. */
  describe(error: Error): Error {
    return this.isLost ? new DatabaseUnavailable('database connection lost', { cause: error }) : error;
  }

  /** As pg's; its promise, which TypeORM uses, rejects as `describe` says. */
  override query(...args: unknown[]): unknown {
    const result = super.query(...args);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: Error) => {
      throw this.describe(error);
    });
  }
}

/** A pool of such connections. Whatever keeps it from giving one is `DatabaseUnavailable`. */
export class DatabasePool extends Pool {
  constructor(options: PoolConfig) {
    super({ ...options, Client: DatabaseClient as unknown as PoolConfig['Client'] });
    // A connection that ends while it is idle has left the pool; the next request gets another one.
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
