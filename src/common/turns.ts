/**
 * Lets the event loop serve others between pieces of work that take long. Without turns, those whose answers from the
 * database arrived together would follow one another at once.
 */
export class Turns {
  private last: Promise<void> = Promise.resolve();

  /** Ends in a turn of the event loop of its own, after those of all callers before. */
  next(): Promise<void> {
    return (this.last = this.last.then(() => new Promise((resolve) => setImmediate(resolve))));
  }
}
