import pg, {
  Client,
  type Connection,
  type CustomTypesConfig,
  type DatabaseError,
  type FieldDef,
  type PoolConfig,
  type QueryResultRow,
  Result,
} from 'pg';

/*
 * All that the service uses of pg beside its public types. statement-pools.e2e-spec.ts and joined-writes.e2e-spec.ts
 * fail if one of them changes.
 */

/** Turns a value into what the protocol carries. A batch writes its own messages, and its values must not differ. */
export const { prepareValue } = (
  pg as unknown as { utils: { prepareValue: (value: unknown) => string | Buffer | null } }
).utils;

/**
 * The text of a named statement that the server has parsed on this connection: to parse it twice is an error. pg enters
 * the `name` and `text` of the query that is being answered, also for its own queries, such as that for a clock.
 */
export const parsedText = (connection: Connection, name: string): string | undefined =>
  (connection as Connection & { parsedStatements: Record<string, string | undefined> }).parsedStatements[
    name
  ];

/** Reads rows, once it has the columns that the server has described. */
export interface RowReader {
  addFields(fields: FieldDef[]): void;
  parseRow(values: readonly (string | null)[]): QueryResultRow;
}
export const RowReader = Result as unknown as new (mode: 'object', types: CustomTypesConfig) => RowReader;

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
