/** Causes that are told apart in a second. Texts of errors may hold ids, so there may be any number. */
const MOST_CAUSES = 20;
const WINDOW_MS = 1000;

/** For lines that an outage repeats at each request: one of each cause a second, and how many were left out. */
export class Repeats {
  private readonly counts = new Map<string, number>();

  constructor(private readonly windowMs = WINDOW_MS) {}

  /**
   * Whether this one is to be told.
   * @param leftOut is called once the second is over, if others of the cause were not told
   */
  isFirst(cause: string, leftOut: (count: number) => void): boolean {
    const key = this.counts.has(cause) || this.counts.size < MOST_CAUSES ? cause : 'others';
    const count = this.counts.get(key);
    if (count !== undefined) return (this.counts.set(key, count + 1), false);
    this.counts.set(key, 0);
    setTimeout(() => {
      const more = this.counts.get(key)!;
      this.counts.delete(key);
      if (more > 0) leftOut(more);
    }, this.windowMs).unref();
    return true;
  }
}
