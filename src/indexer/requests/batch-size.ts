/** Most calls in one HTTP request. None of our requests needs more. */
const MAX_CALLS = 100;
/** A larger batch is tried after so many full ones that succeeded. */
const SUCCESSES_TO_GROW = 50;

/** How many calls an endpoint takes in one HTTP request: each provider has a cap of its own. */
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
