import type { CustomTypesConfig, QueryResultRow } from 'pg';
import type { BoundStatement } from './statement';
import { StatementBatch } from './statement-batch';

type Answered = (index: number, error: Error | null, rows?: QueryResultRow[], skipped?: boolean) => void;

/**
 * Statements that only read, sent together. PostgreSQL runs each with its own snapshot, and mostly sends the answers
 * together: that saves it and this process a system call and a wake-up for each.
 */
export class ReadBatch extends StatementBatch {
  /** @param answered is called once for each statement; `skipped` if the error is that of another */
  constructor(
    types: CustomTypesConfig,
    statements: readonly BoundStatement[],
    public answered: Answered,
  ) {
    super(types, statements);
  }

  /** Nothing is left to commit, so a statement that has completed is answered. */
  protected completed(index: number, error: Error | null, rows: QueryResultRow[]): void {
    this.answered(index, error, rows);
  }

  protected failed(index: number, error: Error, skipped: boolean): void {
    this.answered(index, error, undefined, skipped);
  }
}
