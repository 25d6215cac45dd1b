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
