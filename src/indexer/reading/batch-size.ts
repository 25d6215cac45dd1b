/** Most calls in one HTTP request. None of our requests needs more. */
const MAX_CALLS = 100;
/** A larger batch is tried after so many full ones that succeeded. */
const SUCCESSES_TO_GROW = 50;

/** How many calls an endpoint takes in one HTTP request: each provider has a cap of its own. */
export class BatchSize {
  private size = MAX_CALLS;
  private successes = 0;
  /** The size before the endpoint said that it was asked too often, and whether smaller batches have worked since. */
  private doubt?: { size: number; hasWorked: boolean };

  get limit(): number {
    return this.size;
  }

  refused(calls: number): void {
    this.doubt = undefined;
    this.halve(calls);
  }

  /**
   * The endpoint was asked too often. Some count each call of a batch, so a smaller one is tried; if that works, larger
   * ones are at once, and only if they are too many again was it the batch.
   */
  throttled(calls: number): void {
    this.doubt = this.doubt?.hasWorked ? undefined : (this.doubt ?? { size: this.size, hasWorked: false });
    this.halve(calls);
  }

  succeeded(calls: number): void {
    if (calls < this.size || this.size === MAX_CALLS) return;
    const { doubt } = this;
    if (doubt) {
      this.size = Math.min(doubt.size, this.size * 2);
      this.doubt = this.size < doubt.size ? { ...doubt, hasWorked: true } : undefined;
      return;
    }
    this.successes += 1;
    if (this.successes < SUCCESSES_TO_GROW) return;
    this.size = Math.min(MAX_CALLS, Math.ceil(this.size * 1.25));
    this.successes = 0;
  }

  private halve(calls: number): void {
    this.size = Math.max(1, Math.floor(Math.min(calls, this.size) / 2));
    this.successes = 0;
  }
}
