import { setImmediate as nextTurn } from 'node:timers/promises';

/** The last piece of a turn begins by then. */
const BUDGET_MS = 3;

/**
 * Lets the event loop serve others between pieces of work that take long. Without turns, pieces whose answers from the
 * database came together would run back to back, and everybody else would wait. Short pieces share a turn, because the
 * check of a signature in a turn of its own takes half as long again.
 */
export class Turns {
  /** The next turn, while a piece waits for it. */
  private next?: Promise<void>;
  /** When the pieces of this turn began, as a `performance.now()`. */
  private begunAt = 0;

  /** Runs it in the next turn of the event loop, or in a later one if there are too many, in the order of the calls. */
  async run<Result>(work: () => Result): Promise<Result> {
    do {
      this.next ??= nextTurn().then(() => {
        this.next = undefined;
        this.begunAt = performance.now();
      });
      await this.next;
    } while (performance.now() - this.begunAt >= BUDGET_MS);
    return work();
  }
}
