import type { Logger } from '@nestjs/common';

/** Logs an outage of work that repeats itself once, when it begins, and that it is over. */
export class OutageLog {
  private isOut = false;

  /** @param over the line at its end; without it there is none */
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
