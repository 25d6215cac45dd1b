import pg, { Query, type QueryConfig, type QueryResultRow, Result } from 'pg';
import { serialize } from 'pg-protocol';
import type { BoundStatement } from './statement';

/** Members of pg beside its public types. */
const { prepareValue } = (
  pg as unknown as { utils: { prepareValue: (value: unknown) => string | Buffer | null } }
).utils;
interface Columns {
  addFields(fields: unknown[]): void;
  parseRow(fields: unknown[]): QueryResultRow;
}
interface Connection {
  /** Texts of the named statements that the server knows, and of those that pg's own queries have sent to it. */
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
  _send(message: Buffer): void;
}
interface QueryInternals {
  callback: (error: Error | null) => void;
  /** Its parsers are those of the client. */
  _result: { _types: unknown };
  name?: string;
  text?: string;
  submit(connection: Connection): Error | null;
  handleRowDescription(message: { fields: unknown[] }): void;
  handleDataRow(message: { fields: unknown[] }): void;
  handleCommandComplete(): void;
  handleEmptyQuery(): void;
  handleError(error: Error): void;
  handleReadyForQuery(): void;
}

const PgQuery = Query as unknown as new (
  config: Partial<QueryConfig>,
  callback: QueryInternals['callback'],
) => QueryInternals;
const PgResult = Result as unknown as new (rowMode: string, types: unknown) => Columns;

const EXECUTE = serialize.execute();
const DESCRIBE = serialize.describe({ type: 'P' });
const SYNC = serialize.sync();
/** Of a statement that returns nothing. */
const NO_COLUMNS = new PgResult('', undefined);
/** Columns of the named statements that a connection has described. */
const columnsOf = new WeakMap<Connection, Map<string, Columns>>();

/**
 * Named statements that are sent together with one Sync, so that the server skips those after one that fails. pg takes
 * them for one query, with the name of the statement that is being answered.
 *
 * It writes and reads pg's messages itself, because an object of pg's `Query` for each statement costs this process
 * some 8 µs. Columns are described once on each connection.
 */
export abstract class StatementBatch extends PgQuery {
  /** Indexes of the statements that are not answered, in order. The server is at the first. */
  private pending: number[];
  private columnsByName?: Map<string, Columns>;
  private columns?: Columns;
  private found: QueryResultRow[] = [];
  private unreadable: Error | null = null;

  constructor(private readonly statements: readonly BoundStatement[]) {
    super({}, () => undefined);
    this.pending = statements.map((_, index) => index);
  }

  /** The server has run a statement. @param error of a row that could not be read */
  protected abstract completed(index: number, error: Error | null, rows: QueryResultRow[]): void;

  /** @param skipped if the error is that of another statement */
  protected abstract failed(index: number, error: Error, skipped: boolean): void;

  /** Sends all but those that cannot be. */
  override submit(connection: Connection): null {
    if (!columnsOf.has(connection)) columnsOf.set(connection, new Map());
    this.columnsByName = columnsOf.get(connection)!;
    const parsed = new Map<string, string>();
    const messages: Buffer[] = [];
    this.pending = this.pending.filter((index) => {
      try {
        messages.push(...this.messages(index, parsed, connection));
        return true;
      } catch (error) {
        process.nextTick(() => this.failed(index, error as Error, false));
        return false;
      }
    });
    messages.push(SYNC);
    connection._send(Buffer.concat(messages));
    this.begin();
    return null;
  }

  override handleRowDescription({ fields }: { fields: unknown[] }): void {
    this.columns = new PgResult('', this._result._types);
    this.columns.addFields(fields);
    this.columnsByName!.set(this.name!, this.columns);
  }

  override handleDataRow({ fields }: { fields: unknown[] }): void {
    try {
      this.found.push(this.columns!.parseRow(fields));
    } catch (error) {
      this.unreadable = error as Error;
    }
  }

  override handleCommandComplete(): void {
    const { found, unreadable } = this;
    if (!this.columns) this.columnsByName!.set(this.name!, NO_COLUMNS);
    const index = this.pending.shift()!;
    this.begin();
    this.completed(index, unreadable, found);
  }

  override handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  /** Of the current statement, or of the connection. */
  override handleError(error: Error): void {
    this.callback(null);
    for (const [place, index] of this.pending.splice(0).entries()) this.failed(index, error, place > 0);
  }

  /** pg stops its timer of `query_timeout` in the batch's own callback. */
  override handleReadyForQuery(): void {
    this.callback(null);
  }

  /** @param parsed texts of the statements that this batch has the server parse, by name */
  private messages(index: number, parsed: Map<string, string>, connection: Connection): Buffer[] {
    const { statement, values } = this.statements[index];
    const { name, text } = statement;
    const { parsedStatements, submittedNamedStatements } = connection;
    const known = parsedStatements[name] ?? submittedNamedStatements[name] ?? parsed.get(name);
    if (known !== undefined && known !== text) throw new Error(`two statements are named "${name}"`);
    const bind = serialize.bind({ statement: name, values, valueMapper: prepareValue });
    if (known !== undefined && this.columnsByName!.has(name)) return [bind, EXECUTE];
    if (known !== undefined) return [bind, DESCRIBE, EXECUTE];
    parsed.set(name, text);
    return [serialize.parse({ name, text }), bind, DESCRIBE, EXECUTE];
  }

  /** Begins to read the answer to the next statement. */
  private begin(): void {
    this.found = [];
    this.unreadable = null;
    if (this.pending.length === 0) return;
    const { name, text } = this.statements[this.pending[0]].statement;
    this.name = name;
    this.text = text;
    this.columns = this.columnsByName!.get(name);
  }
}
