/** Calls in one HTTP request at most: no request of ours needs more. */
const MAX_CALLS = 100;
/** Full batches that must succeed before a larger one is tried. */
const SUCCESSES_TO_GROW = 50;

/** How many calls an endpoint takes in one HTTP request: providers cap it, each at another number. */
export class BatchSize {
  private size = MAX_CALLS;
  private successes = 0;

  get limit(): number {
    return this.size;
  }

  refused(calls: number): void {
    this.size = Math.max(1, Math.floor(Math.min(calls, this.size) / 2));
    this.successes = 0;
  }

  succeeded(calls: number): void {
    if (calls < this.size || this.size === MAX_CALLS) return;
    this.successes += 1;
    if (this.successes < SUCCESSES_TO_GROW) return;
    this.size = Math.min(MAX_CALLS, Math.ceil(this.size * 1.25));
    this.successes = 0;
  }
}
