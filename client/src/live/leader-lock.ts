import type { TabTools } from '../tabs.js';

/**
 * Of all tabs with this name one leads: the one that holds a lock, which the browser passes on when the tab is closed.
 * A tab that the browser has frozen keeps it; then `take` takes it away. Without locks, or without a line to the others,
 * every tab leads for itself.
 */
export class LeaderLock {
  private turn = new AbortController();
  private takes = false;

  /** @param lead works until its signal aborts */
  constructor(
    private readonly tools: TabTools,
    private readonly name: string,
    private readonly lead: (signal: AbortSignal) => Promise<void>,
  ) {}

  get isShared(): boolean {
    return this.tools.locks !== undefined && this.tools.channel !== undefined;
  }

  /** Waits for the lock, again and again until the signal aborts. */
  async hold(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ended = new AbortController();
      const lead = async (): Promise<void> => {
        if (!signal.aborted) await this.lead(AbortSignal.any([signal, ended.signal]));
      };
      try {
        await this.acquire(lead, signal);
      } catch {
        // Another tab took it, or `take` was called: wait for it once more.
      } finally {
        ended.abort();
      }
    }
  }

  /** Takes the lock from the tab that has it. */
  take(): void {
    this.takes = true;
    this.turn.abort();
  }

  private async acquire(lead: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { locks } = this.tools;
    if (!locks || !this.isShared) return lead();
    const { takes } = this;
    this.takes = false;
    this.turn = new AbortController();
    // A browser takes no signal beside `steal`.
    const how = takes ? { steal: true } : { signal: AbortSignal.any([signal, this.turn.signal]) };
    await locks.request(this.name, how, lead);
  }
}
