import { DatabaseError, type QueryResultRow } from 'pg';
import type { Statement } from './statement';
import type { StatementPool } from './statement-pool';
import { DatabaseUnavailable } from './unavailable';

/** Statements under way: while one commits, the server works on the other. */
const WIDTH = 2;
/** Calls in one statement, and elements of their longest arrays, so that one takes some 10 ms at most. */
const MOST_CALLS = 32;
const MOST_ELEMENTS = 256;
/** More would be answered too late. */
const MAX_WAITING = 1000;

interface Call {
  values: unknown[][];
  /** As a `performance.now()`, from which the pool's limits count. */
  requested: number;
  resolve: (rows: QueryResultRow[]) => void;
  reject: (error: Error) => void;
}

const sizeOf = ({ values }: Call): number => Math.max(...values.map(({ length }) => length));

/**
 * Joins calls of a statement whose parameters are all arrays: those that come while others are under way are one
 * statement, with their arrays one after the other, and so one transaction. The more load, the fewer transactions.
 *
 * If it fails and was certainly not done, each call runs alone, so none gets the error of another.
 */
export class JoinedWrites {
  private readonly calls: Call[] = [];
  private underWay = 0;
  private turn?: NodeJS.Immediate;

  constructor(
    private readonly pool: StatementPool,
    private readonly statement: Statement,
  ) {}

  /** Calls that are in no statement yet. */
  get waiting(): number {
    return this.calls.length;
  }

  /** @returns all rows of the statement, of which some belong to other calls; throws what `StatementPool.run` throws */
  run<Row extends QueryResultRow>(values: unknown[][]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      if (this.calls.length >= MAX_WAITING)
        return reject(new DatabaseUnavailable('too many statements are waiting'));
      const answered = (rows: QueryResultRow[]): void => resolve(rows as Row[]);
      this.calls.push({ values, requested: performance.now(), resolve: answered, reject });
      this.next();
    });
  }

  /** What has come in one turn of the event loop goes together. */
  private next(): void {
    if (this.underWay < WIDTH) this.turn ??= setImmediate(() => this.sendWaiting());
  }

  private sendWaiting(): void {
    this.turn = undefined;
    while (this.underWay < WIDTH && this.calls.length > 0) {
      this.underWay++;
      void this.send(this.take()).finally(() => {
        this.underWay--;
        this.next();
      });
    }
  }

  private take(): Call[] {
    let count = 0;
    let elements = 0;
    for (const call of this.calls.slice(0, MOST_CALLS)) {
      elements += sizeOf(call);
      if (count > 0 && elements > MOST_ELEMENTS) break;
      count++;
    }
    return this.calls.splice(0, count);
  }

  private async send(calls: Call[]): Promise<void> {
    const [oldest] = calls;
    const joined = oldest.values.map((_, place) => calls.flatMap(({ values }) => values[place]));
    try {
      const rows = await this.pool.run(this.statement, joined, true, oldest.requested);
      for (const { resolve } of calls) resolve(rows);
    } catch (error) {
      // The server has said that it did nothing.
      if (calls.length > 1 && error instanceof DatabaseError)
        await Promise.all(calls.map((call) => this.send([call])));
      else for (const { reject } of calls) reject(error as Error);
    }
  }
}
