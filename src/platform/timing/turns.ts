import { setImmediate as nextTurn } from 'node:timers/promises';
import { pause } from './waits';

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

/** The longest rest after a piece. */
const REST_MS = 1000;

/**
 * Lets few pieces of work run at once: in turn over those for whom they are, and one for each of them at a time, so that
 * a caller with many waits only for its own. After a piece its place rests as long as the piece took. So on a busy
 * machine the work steps back, and never takes more than half the time of its places.
 */
export class FairTurns {
  /** By whom they are for, in the order of their turns. None of them throws. */
  private readonly waiting = new Map<string, (() => Promise<void>)[]>();
  private readonly served = new Set<string>();

  /** @param free places */
  constructor(private free: number) {}

  /** Settles as the work does, which runs in its turn. */
  run<Result>(whom: string, work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const piece = (): Promise<void> => (async () => work())().then(resolve, reject);
      const line = this.waiting.get(whom);
      if (line) line.push(piece);
      else this.waiting.set(whom, [piece]);
      this.begin();
    });
  }

  private begin(): void {
    // Only those who are served are passed over, so this looks at few.
    for (const [whom, line] of this.waiting) {
      if (this.free === 0) return;
      if (this.served.has(whom)) continue;
      const piece = line.shift()!;
      // The next of his comes after those of all others.
      this.waiting.delete(whom);
      if (line.length > 0) this.waiting.set(whom, line);
      void this.serve(whom, piece);
    }
  }

  private async serve(whom: string, piece: () => Promise<void>): Promise<void> {
    this.free--;
    this.served.add(whom);
    const begun = performance.now();
    await piece();
    this.served.delete(whom);
    const took = performance.now() - begun;
    if (took >= 1) await pause(Math.min(took, REST_MS));
    this.free++;
    this.begin();
  }
}
