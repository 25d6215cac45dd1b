import type { CustomTypesConfig, QueryResultRow } from 'pg';
import type { BoundStatement } from './statement';
import { StatementBatch } from './statement-batch';

/**
 * Limits each of the statements behind it in its transaction, in ms. It is sent with them, because a pooler may hand
 * the next transaction to another session. Returns no row.
 */
const LIMIT = {
  name: 'read_limit',
  text: `SELECT WHERE set_config('statement_timeout', $1, true) = ''`,
};

type Answered = (index: number, error: Error | null, rows?: QueryResultRow[], skipped?: boolean) => void;

/**
 * Statements that only read, sent together. PostgreSQL runs each with its own snapshot, and mostly sends the answers
 * together: that saves it and this process a system call and a wake-up for each.
 */
export class ReadBatch extends StatementBatch {
  /**
   * @param answered is called once for each statement; `skipped` if the error is that of another
   * @param limitMs after which the server cancels a statement; otherwise the connection's own limit holds
   */
  constructor(
    types: CustomTypesConfig,
    statements: readonly BoundStatement[],
    public answered: Answered,
    private readonly limitMs?: number,
  ) {
    super(
      types,
      limitMs === undefined ? statements : [{ statement: LIMIT, values: [`${limitMs}`] }, ...statements],
    );
  }

  /** Nothing is left to commit, so a statement that has completed is answered. */
  protected completed(index: number, error: Error | null, rows: QueryResultRow[]): void {
    const own = this.ownIndex(index);
    if (own >= 0) this.answered(own, error, rows);
  }

  protected failed(index: number, error: Error, skipped: boolean): void {
    const own = this.ownIndex(index);
    if (own >= 0) this.answered(own, error, undefined, skipped);
  }

  private ownIndex(index: number): number {
    return this.limitMs === undefined ? index : index - 1;
  }
}
