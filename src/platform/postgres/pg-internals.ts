import pg, {
  Client,
  type Connection,
  type DatabaseError,
  type FieldDef,
  type PoolConfig,
  Query,
  type QueryConfig,
} from 'pg';

/*
 * All that the service uses of pg beside its public types. statement-pools.e2e-spec.ts and joined-writes.e2e-spec.ts
 * fail if one of them changes.
 */

/** Turns a value into what the protocol carries. A batch writes its own messages, and its values must not differ. */
export const { prepareValue } = (
  pg as unknown as { utils: { prepareValue: (value: unknown) => string | Buffer | null } }
).utils;

/** To parse a named statement twice on a connection is an error. pg's own queries, such as a clock's, use it too. */
interface NamedStatements {
  /** Texts of those that the server has parsed. pg enters the `name` and `text` of the query that is being answered. */
  readonly parsedStatements: Record<string, string>;
  /** Texts of those that pg's own queries have sent, until the server has parsed them. */
  readonly submittedNamedStatements: Record<string, string>;
}
type Statements = Connection & NamedStatements;

/** Whether the server has parsed a named statement on this connection. */
export const isParsed = ({ connection }: { connection: Connection }, name: string): boolean =>
  (connection as Statements).parsedStatements[name] !== undefined;

/** The text with which a named statement was sent on this connection, if it was. */
export function sentText(connection: Connection, name: string): string | undefined {
  const { parsedStatements, submittedNamedStatements } = connection as Statements;
  return parsedStatements[name] ?? submittedNamedStatements[name];
}

/**
 * pg's query. In pipeline mode the client takes only queries of this class, and hands them what the server answers.
 * To write and to read a batch's messages itself, `StatementBatch` replaces `submit` and the handlers.
 */
export const PgQuery = Query as unknown as new (
  config: Partial<QueryConfig>,
  callback: () => void,
) => {
  /** pg puts one in its place that stops its timer of `query_timeout`. */
  callback: () => void;
  name?: string;
  text?: string;
  submit(connection: Connection): Error | null;
  handleRowDescription(message: { fields: FieldDef[] }): void;
  handleDataRow(message: { fields: (string | null)[] }): void;
  handleCommandComplete(): void;
  handleEmptyQuery(): void;
  /** The server's error, after which it skips what follows up to Sync; or that of the connection. */
  handleError(error: Error): void;
  handleReadyForQuery(): void;
};

/** pg's client with the overloads of `query` as one, so that a class can override it. */
export const PgClient = Client as unknown as new (config?: PoolConfig) => Omit<Client, 'query' | 'emit'> & {
  query(...args: unknown[]): unknown;
  emit(event: string, ...args: unknown[]): boolean;
};

/**
 * Listens for errors that the server reports. On a client that is not connected yet the listener comes before pg's own,
 * which fails the statements.
 */
export const onServerError = (
  { connection }: { connection: Connection },
  listener: (error: DatabaseError) => void,
): unknown => connection.on('errorMessage', listener);

/**
 * Calls back when the server is done with the query whose error it has reported, or its connection is gone. It reports an error
 * before it undoes the transaction, which has its locks until then.
 */
export function onceUndone({ connection }: { connection: Connection }, callback: () => void): void {
  if (connection.stream.destroyed) return callback();
  const events = ['readyForQuery', 'end'];
  const done = (): void => {
    for (const event of events) connection.off(event, done);
    callback();
  };
  for (const event of events) connection.on(event, done);
}
