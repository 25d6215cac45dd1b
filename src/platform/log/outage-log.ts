import type { Logger } from '@nestjs/common';

/** For work that repeats itself: logs an outage once when it begins, and once when it is over. */
export class OutageLog {
  private isOut = false;

  /** @param over the line for the end of an outage; without it the end is not logged */
  constructor(
    private readonly logger: Pick<Logger, 'log' | 'warn'>,
    private readonly begins: string,
    private readonly over?: string,
  ) {}

  failed(error: unknown): void {
    if (!this.isOut) this.logger.warn(`${this.begins}: ${(error as Error).message}`);
    this.isOut = true;
  }

  succeeded(): void {
    if (this.isOut && this.over !== undefined) this.logger.log(this.over);
    this.isOut = false;
  }
}

/** Causes that are distinguished in a second. Texts of errors may hold ids, so there may be any number. */
const MOST_CAUSES = 20;
const WINDOW_MS = 1000;

/** For lines that an outage repeats at each request: one of each cause a second, and how many were left out. */
export class Repeats {
  private readonly counts = new Map<string, number>();

  constructor(private readonly windowMs = WINDOW_MS) {}

  /**
   * Whether to log this one.
   * @param leftOut is called once the second is over, if others of the cause were not logged
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
