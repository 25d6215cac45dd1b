/** Time that one batch should take: long enough to be efficient, short enough not to delay requests. */
const TARGET_MS = 250;
const MAX_KEYS = 5000;

/** Number of keys in a batch. It adapts to how long the last batch took. */
export class KeyBatchSize {
  constructor(
    private size = 50,
    private readonly largest = MAX_KEYS,
  ) {}

  get keys(): number {
    return this.size;
  }

  async timed<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await work();
    const elapsed = performance.now() - start;
    if (elapsed > 2 * TARGET_MS) this.size = Math.max(1, this.size >> 1);
    else if (elapsed < TARGET_MS / 2) this.size = Math.min(this.largest, this.size * 2);
    return result;
  }
}
