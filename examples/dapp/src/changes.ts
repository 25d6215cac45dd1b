import { ApiError, type SavingsClient } from '@pooled-savings/client';

/** Time between requests while events are not available. */
const POLL_MS = 3_000;
/** One change of the ledger causes several events, so listeners are called once for all within this time. */
const TOGETHER_MS = 150;

type Listener = () => void;

/** Reports that something may have changed. Uses the service's events, and polls while they are not available. */
export class Changes {
  private readonly ended = new AbortController();
  private readonly listeners = new Set<Listener>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private polling: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly client: SavingsClient,
    private readonly isLive: (live: boolean) => void,
  ) {
    void this.follow();
  }

  /** @returns a function that removes the listener */
  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Resolves at the next change, or after the given time. */
  next(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        forget();
        clearTimeout(timer);
        resolve();
      };
      const forget = this.listen(end);
      const timer = setTimeout(end, limitMs);
    });
  }

  stop(): void {
    this.ended.abort();
    clearTimeout(this.timer);
    clearInterval(this.polling);
    this.listeners.clear();
  }

  private async follow(): Promise<void> {
    const { signal } = this.ended;
    this.poll(true);
    try {
      const events = this.client.events({
        signal,
        onConnected: () => this.connected(true),
        onDisconnected: () => this.connected(false),
      });
      for await (const event of events) if (event.topic) this.tell();
    } catch (error) {
      if (signal.aborted) return;
      // The service has no events, or the session has ended: the next request reports it.
      if (!(error instanceof ApiError)) throw error;
      this.connected(false);
    }
  }

  private connected(live: boolean): void {
    this.isLive(live);
    this.poll(!live);
    if (live) this.tell();
  }

  private poll(on: boolean): void {
    clearInterval(this.polling);
    this.polling = on ? setInterval(() => document.hidden || this.tell(), POLL_MS) : undefined;
  }

  private tell(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.listeners.forEach((listener) => listener()), TOGETHER_MS);
  }
}
