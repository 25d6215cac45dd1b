import { DatabaseError, type QueryResultRow } from 'pg';
import type { Statement } from '#platform/postgres/statement';
import { DatabaseUnavailable, LOCKED, OutcomeUnknown, isUnavailable } from '#platform/postgres/unavailable';
import { MAX_WAITING, type StatementPool } from './statement-pool';

/** Statements under way: while one commits, the server works on the other. */
const WIDTH = 2;
/** Calls in one statement, so that it takes PostgreSQL some 10 ms, or 200 ms if each is a pool with 100 members. */
const MOST_CALLS = 32;

interface Call {
  values: unknown[][];
  /** As a `performance.now()`, from which the pool's limits count. */
  requested: number;
  resolve: (rows: QueryResultRow[]) => void;
  reject: (error: Error) => void;
}

/**
 * Whether the calls of a failed statement may succeed alone. The joint statement was certainly not done, and its fault
 * may be one call's only (a bad row, a lock, a call that was nearly too late): so each is tried alone. Not if the server
 * itself is the trouble: that would multiply its load.
 */
function isDivisible(error: unknown): boolean {
  if (error instanceof DatabaseError) return !isUnavailable(error) || error.code === LOCKED;
  return error instanceof DatabaseUnavailable && !(error instanceof OutcomeUnknown);
}

/**
 * Joins calls of a statement whose parameters are all arrays. Those that come while others are under way become one
 * statement, with their arrays one after the other, and so one transaction: load makes them larger, not more.
 *
 * If it fails because of one call, each runs alone, so none gets the error of another.
 */
export class JoinedWrites {
  private readonly calls: Call[] = [];
  private underWay = 0;
  private turn?: NodeJS.Immediate;

  constructor(
    private readonly pool: StatementPool,
    private readonly statement: Statement,
  ) {}

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
    this.refuseLate();
    while (this.underWay < WIDTH && this.calls.length > 0) {
      this.underWay++;
      this.send(this.calls.splice(0, MOST_CALLS), () => {
        this.underWay--;
        this.next();
      });
    }
  }

  /** They have waited as long as statements may wait to be sent again. */
  private refuseLate(): void {
    const oldest = performance.now() - this.pool.limits.resendMs;
    while (this.calls.length > 0 && this.calls[0].requested < oldest)
      this.calls.shift()!.reject(new DatabaseUnavailable('earlier statements took too long'));
  }

  private send(calls: Call[], ended: () => void = () => undefined): void {
    const [{ values, requested }] = calls;
    const joined = values.map((_, place) => calls.flatMap((call) => call.values[place]));
    // The oldest call's time is that of all.
    this.pool
      .run(this.statement, joined, { writes: true, requested, isJoined: calls.length > 1 })
      .finally(ended)
      .then(
        (rows) => calls.forEach(({ resolve }) => resolve(rows)),
        (error: Error) => {
          if (calls.length > 1 && isDivisible(error)) calls.forEach((call) => this.send([call]));
          else calls.forEach(({ reject }) => reject(error));
        },
      );
  }
}
