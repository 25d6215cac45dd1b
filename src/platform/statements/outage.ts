/** Time between attempts to connect, while they fail. Each is half to one and a half times as long. */
const RECONNECT_MS = 100;
/** A switch to another server takes less. After that, statements do not wait for a connection any longer. */
const OUTAGE_MS = 6000;

/** Remembers how long no connection could be made. */
export class Outage {
  private since?: number;
  private retryAt = 0;
  /** Why the last connection failed. */
  reason?: Error;

  /** Whether it has lasted so long that nothing is gained by waiting. */
  get isLong(): boolean {
    return this.since !== undefined && performance.now() - this.since > OUTAGE_MS;
  }

  /** ms until the next attempt to connect. */
  get pause(): number {
    return this.retryAt - performance.now();
  }

  /** A connection could not be made. */
  failed(reason: Error): void {
    this.reason = reason;
    this.since ??= performance.now();
    this.delay();
  }

  /** The server ended a connection: the next one is likely to fail. Processes must not all come back at once. */
  delay(): void {
    this.retryAt = performance.now() + RECONNECT_MS * (0.5 + Math.random());
  }

  over(): void {
    this.since = this.reason = undefined;
  }
}
