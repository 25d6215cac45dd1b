import { Query, type QueryConfig, type QueryResult } from 'pg';
import type { Statement } from './statement';

type Callback = (error: Error | null, result?: QueryResult) => void;

interface RowDescription {
  fields: unknown[];
}
/** Members of pg's connection beside its public types. */
interface Connection {
  readonly submittedNamedStatements: Record<string, string>;
  _send(message: Buffer): void;
}
/** Members of pg's query beside its public types. */
interface QueryInternals {
  callback: Callback;
  name?: string;
  text?: string;
  submit(connection: Connection): Error | null;
  handleRowDescription(message: RowDescription): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
  handleError(error: Error, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
}

const PgQuery = Query as unknown as new (config: Partial<QueryConfig>, callback: Callback) => QueryInternals;

const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);
const nothing = { value: () => undefined };
/** Columns of the named statements that a connection has described. */
const columnsOf = new WeakMap<Connection, Map<string, RowDescription>>();

/**
 * Statements that only read, sent together with one Sync. PostgreSQL runs each with its own snapshot, and mostly sends
 * the answers together: that saves it and this process a system call and a wake-up for each. If one fails, the server
 * skips those after it. pg takes the batch for one query, with the name of the statement that is being answered.
 */
export class ReadBatch extends PgQuery {
  private readonly queries: QueryInternals[];
  private current = 0;
  private columns: Map<string, RowDescription>;
  private sent = false;
  /** What pg says of a statement that cannot be sent, and the index of that statement. */
  private unsendable: Error | null = null;
  private failing = 0;

  /** @param answered is called once for each statement; `skipped` if the error is that of another */
  constructor(
    statements: readonly { statement: Statement; values: unknown[] }[],
    public answered: (index: number, error: Error | null, result?: QueryResult, skipped?: boolean) => void,
  ) {
    super({}, () => undefined);
    this.queries = statements.map(
      ({ statement: { name, text }, values }, index) =>
        new PgQuery({ name, text, values }, (error, result) => {
          if (this.sent) this.answered(index, error, result);
          else this.unsendable = error;
        }),
    );
    this.goTo(0);
  }

  /** Sends all or, if pg finds fault with one, none. */
  override submit(connection: Connection): Error | null {
    if (!columnsOf.has(connection)) columnsOf.set(connection, new Map());
    this.columns = columnsOf.get(connection)!;
    const messages: Buffer[] = [];
    const collecting = Object.create(connection, {
      _send: { value: (message: Buffer) => messages.push(message) },
      stream: { value: {} },
      sync: nothing,
    }) as Connection;
    const described = Object.create(collecting, { describe: nothing }) as Connection;
    for (const [index, query] of this.queries.entries()) {
      const columns = this.columns.get(query.name!);
      if (columns) query.handleRowDescription(columns);
      const error = query.submit(columns ? described : collecting) ?? this.unsendable;
      this.failing = index;
      if (error) return error;
    }
    this.sent = true;
    connection._send(Buffer.concat([...messages, SYNC]));
    return null;
  }

  override handleRowDescription(message: RowDescription): void {
    this.columns.set(this.name!, message);
    this.queries[this.current].handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    this.queries[this.current].handleDataRow(message);
  }

  /** Nothing is left to commit, so a statement that has completed is answered. */
  override handleCommandComplete(message: unknown, connection: Connection): void {
    const query = this.queries[this.current];
    query.handleCommandComplete(message, connection);
    this.goTo(this.current + 1);
    query.handleReadyForQuery(connection);
  }

  /** Of the current statement, or of the connection. */
  override handleError(error: Error, connection: Connection): void {
    this.callback(null);
    const first = this.current;
    const failing = this.sent ? first : this.failing;
    this.goTo(this.queries.length);
    for (let i = first; i < this.queries.length; i++) {
      // Those that were not parsed are parsed when they are sent again.
      delete connection.submittedNamedStatements[this.queries[i].name!];
      this.answered(i, error, undefined, i !== failing);
    }
  }

  /** All are answered before. pg stops its timer of `query_timeout` in the batch's own callback. */
  override handleReadyForQuery(): void {
    this.callback(null);
  }

  private goTo(index: number): void {
    this.current = index;
    const { name, text } = this.queries[index] ?? {};
    Object.assign(this, { name, text });
  }
}
