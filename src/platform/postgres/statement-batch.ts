import {
  type Connection,
  type CustomTypesConfig,
  DatabaseError,
  type FieldDef,
  type QueryResultRow,
} from 'pg';
import { serialize } from 'pg-protocol';
import { type PgClient, RowReader, parsedText, prepareValue } from './pg-internals';
import type { BoundStatement } from './statement';
import { StatementSkipped, tellsNothing } from './unavailable';

const EXECUTE = serialize.execute();
const DESCRIBE = serialize.describe({ type: 'P' });
const SYNC = serialize.sync();

/** Of the named statements that a connection has described. Undefined for those that return nothing. */
const columnsOf = new WeakMap<Connection, Map<string, RowReader | undefined>>();

/** The statement that precedes a batch. */
const GUARD = -1;

/** @param error of a row that could not be read, the server's, or the connection's; `StatementSkipped` after another's */
type Answered = (index: number, error: Error | null, rows?: QueryResultRow[]) => void;

interface BatchOptions {
  /** Limits the statements behind it in its transaction. It returns no row; if it fails, they are skipped. */
  guard?: BoundStatement;
  /** Whether it writes. Then it is one statement, which is answered when its transaction has ended. */
  commits: boolean;
}

/**
 * Named statements that are sent together with one Sync, so that the server skips those after one that fails. To pg the
 * whole batch is one query. `begin` gives that query the name of the statement whose answer comes next. Statements
 * that read are answered one by one, because nothing is left to commit.
 *
 * It writes and reads pg's messages itself, because an object of pg's `Query` for each statement costs this process
 * some 8 µs. Columns are described once on each connection.
 */
export class StatementBatch {
  /** Of the statement that the server is at. pg notes them as parsed. */
  name?: string;
  text?: string;
  /** pg puts one in its place that stops its timer of `query_timeout`, which a URL may have. */
  callback = (): void => undefined;
  /** Whether the server has reported the completion of a statement, so that of one that writes only the commit is left. */
  hasCompleted = false;
  /** Whether the server has refused the guard. */
  isRefused = false;
  /** Indexes of the statements that are not answered, in order. The server is at the first. */
  private pending: number[];
  private columnsByName?: Map<string, RowReader | undefined>;
  private columns?: RowReader;
  private found: QueryResultRow[] = [];
  private unreadable: Error | null = null;
  private atEnd?: () => void;

  /** @param answered is called once for each statement */
  constructor(
    private readonly client: CustomTypesConfig & Pick<InstanceType<typeof PgClient>, 'query'>,
    private readonly statements: readonly BoundStatement[],
    private readonly answered: Answered,
    private readonly options: BatchOptions,
  ) {
    this.pending = statements.map((_, index) => index);
    if (options.guard) this.pending.unshift(GUARD);
  }

  /** Sends all but those that cannot be. */
  submit(connection: Connection): null {
    if (!columnsOf.has(connection)) columnsOf.set(connection, new Map());
    this.columnsByName = columnsOf.get(connection)!;
    const parsed = new Map<string, string>();
    const messages: Buffer[] = [];
    this.pending = this.pending.filter((index) => {
      try {
        messages.push(...this.messages(index, parsed, connection));
        return true;
      } catch (error) {
        process.nextTick(() => this.answered(index, error as Error));
        return false;
      }
    });
    messages.push(SYNC);
    if (connection.stream.writable) connection.stream.write(Buffer.concat(messages));
    this.begin();
    return null;
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.columns = new RowReader('object', this.client);
    this.columns.addFields(fields);
    this.columnsByName!.set(this.name!, this.columns);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    try {
      this.found.push(this.columns!.parseRow(fields));
    } catch (error) {
      this.unreadable = error as Error;
    }
  }

  handleCommandComplete(): void {
    const { found, unreadable } = this;
    if (!this.columns) this.columnsByName!.set(this.name!, undefined);
    const index = this.pending.shift();
    this.begin();
    // None is left after pg's own timeout.
    if (index === undefined || index === GUARD) return;
    this.hasCompleted = true;
    this.answer(index, unreadable, found);
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  /** Of the current statement, of the commit, or of the connection. */
  handleError(error: Error): void {
    this.callback();
    const isServers = error instanceof DatabaseError;
    this.isRefused = this.pending[0] === GUARD && isServers && !tellsNothing(error.code);
    const { commits } = this.options;
    // A write whose guard has no answer may have been done.
    const skipped = commits && !this.isRefused ? error : new StatementSkipped('not begun', { cause: error });
    if (commits && this.hasCompleted) this.answer(0, error);
    for (const [place, index] of this.pending.splice(0).entries())
      if (index !== GUARD) this.answer(index, place > 0 ? skipped : error);
    // The server reports an error before it undoes the transaction, and what is tried again must not meet its own locks.
    // So this waits until the server takes the next query, or the connection is gone.
    if (isServers && commits) this.client.query('', () => this.end());
    else this.end();
  }

  handleReadyForQuery(): void {
    this.callback();
    this.end();
  }

  private answer(index: number, error: Error | null, rows?: QueryResultRow[]): void {
    if (this.options.commits) this.atEnd = () => this.answered(index, error, rows);
    else this.answered(index, error, rows);
  }

  private end(): void {
    const { atEnd } = this;
    this.atEnd = undefined;
    atEnd?.();
  }

  /** @param parsed texts of the statements that this batch has the server parse, by name */
  private messages(index: number, parsed: Map<string, string>, connection: Connection): Buffer[] {
    const { statement, values } = this.at(index);
    const { name, text } = statement;
    const known = parsedText(connection, name) ?? parsed.get(name);
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
    const { name, text } = this.at(this.pending[0]).statement;
    this.name = name;
    this.text = text;
    this.columns = this.columnsByName!.get(name);
  }

  private at(index: number): BoundStatement {
    return index === GUARD ? this.options.guard! : this.statements[index];
  }
}
