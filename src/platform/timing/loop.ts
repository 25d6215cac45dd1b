import type { OutageLog } from '#platform/log/outage-log';
import { pause } from './waits';

/** Work that repeats itself in the background, one turn after the other. It does not keep the process alive. */
export class Loop {
  private readonly stopping = new AbortController();
  private woken = new AbortController();
  private running = Promise.resolve();

  /**
   * @param work may fail: it is repeated all the same
   * @param wait milliseconds from the end of a turn to the next; it is passed whether that turn failed
   * @param outage logs failures, except for that of a turn during which `stop` was called; if left out, none is logged
   */
  constructor(
    private readonly work: () => unknown,
    private readonly wait: (hasFailed: boolean) => number,
    private readonly outage?: OutageLog,
  ) {}

  /** Aborted by `stop`. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** Repeats the work from now on. The first turn comes after a wait. */
  start(): void {
    this.running = this.repeat();
  }

  /** Ends the wait. During a turn, the next one follows without a wait. */
  hurry(): void {
    this.woken.abort();
  }

  /** @returns when the repeated turn that is under way has ended */
  stop(): Promise<void> {
    this.stopping.abort();
    this.hurry();
    return this.running;
  }

  /** @returns whether the work failed */
  async turn(): Promise<boolean> {
    this.woken = new AbortController();
    try {
      await this.work();
      this.outage?.succeeded();
      return false;
    } catch (error) {
      if (!this.signal.aborted) this.outage?.failed(error);
      return true;
    }
  }

  private async repeat(): Promise<void> {
    for (let hasFailed = false; ; hasFailed = await this.turn()) {
      if (!this.signal.aborted) await pause(this.wait(hasFailed), this.woken.signal);
      if (this.signal.aborted) return;
    }
  }
}
