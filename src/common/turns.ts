import { setImmediate as nextTurn } from 'node:timers/promises';

/** The last piece of a turn begins by then. */
const BUDGET_MS = 3;

/**
 * Lets the event loop serve others between pieces of work that take long. Without turns, those whose answers from the
 * database arrived together would follow one another at once. Short ones share a turn, because each turn costs as much
 * as half of one.
 */
export class Turns {
  /** When the first piece of this turn began, as a `performance.now()`. */
  private begunAt?: number;
  private end?: Promise<void>;

  /** Runs it in this turn of the event loop if there is time, otherwise in a later one, in the order of the calls. */
  async run<Result>(work: () => Result): Promise<Result> {
    while (!this.hasTime()) await this.end;
    return work();
  }

  private hasTime(): boolean {
    const now = performance.now();
    this.begunAt ??= now;
    this.end ??= nextTurn().then(() => {
      this.begunAt = this.end = undefined;
    });
    return now - this.begunAt < BUDGET_MS;
  }
}
