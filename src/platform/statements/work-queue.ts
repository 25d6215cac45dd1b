import type { QueryResultRow } from 'pg';
import type { TimeLimits } from '#platform/postgres/budget';
import type { BoundStatement } from '#platform/postgres/statement';
import { DatabaseUnavailable } from '#platform/postgres/unavailable';
import { afterIo } from '#platform/timing/waits';

/** A statement to run. */
export interface Work extends BoundStatement {
  /** Whether it may change something. */
  writes: boolean;
  /** As a `performance.now()`, from which the limits count. */
  requested: number;
  /** Whether it is that of several requests, so that a lock holds up one of them only. */
  isJoined: boolean;
  /** How long it waits while all connections are busy, in ms from the request; the pool's limit, if absent. */
  sendMs?: number;
  callback: (error: Error | null, rows?: QueryResultRow[]) => void;
  /** How long it may wait, in ms from the request. Set when it begins to wait. */
  limitMs?: number;
  /** Why it has to be sent again. */
  failure?: Error;
}

export const older = (a: Work, b: Work): Work => (b.requested < a.requested ? b : a);

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

/** Statements that wait to be sent, each until its limit. */
export class WorkQueue {
  private readonly waiting: Work[] = [];
  /**
   * For the statement whose time ends first. It is not stopped when that one is sent: timers for each would cost more
   * than the queue.
   */
  private timer?: { at: number; stop: () => void };

  /** @param isStalled whether the server, not the other statements, lets this one wait */
  constructor(
    private readonly limits: TimeLimits,
    private readonly outage: Outage,
    private readonly isStalled: (work: Work) => boolean,
  ) {}

  get length(): number {
    return this.waiting.length;
  }

  /** Behind those that were requested earlier, so that one that is sent again does not lose its place. */
  add(work: Work): void {
    work.limitMs = work.sendMs ?? this.limits.sendMs;
    let place = this.waiting.length;
    while (place > 0 && this.waiting[place - 1].requested > work.requested) place--;
    this.waiting.splice(place, 0, work);
    this.watch(endOf(work));
  }

  /** Removes the first statement for which it holds. */
  take(isWanted: (work: Work) => boolean): Work | undefined {
    const index = this.waiting.findIndex(isWanted);
    return index < 0 ? undefined : this.waiting.splice(index, 1)[0];
  }

  /** Removes the first `most` statements, or of those for which it holds. */
  takeFirst(most: number, isWanted?: (work: Work) => boolean): Work[] {
    if (!isWanted) return this.waiting.splice(0, most);
    const taken: Work[] = [];
    let kept = 0;
    for (const work of this.waiting)
      if (taken.length < most && isWanted(work)) taken.push(work);
      else this.waiting[kept++] = work;
    this.waiting.length = kept;
    return taken;
  }

  [Symbol.iterator](): Iterator<Work> {
    return this.waiting[Symbol.iterator]();
  }

  refuseAll(error: Error): void {
    for (const work of this.waiting.splice(0)) work.callback(error);
  }

  private watch(at: number): void {
    if (this.timer && this.timer.at <= at) return;
    this.timer?.stop();
    const stop = afterIo(at - performance.now(), () => {
      this.timer = undefined;
      this.endLate();
    });
    this.timer = { at, stop };
  }

  private endLate(): void {
    const now = performance.now();
    const { resendMs } = this.limits;
    const late = this.waiting.filter((work) => endOf(work) <= now);
    for (const work of late) {
      if (work.limitMs! < resendMs && (work.failure || this.isStalled(work))) work.limitMs = resendMs;
      if (endOf(work) > now) continue;
      this.waiting.splice(this.waiting.indexOf(work), 1);
      const reason = work.failure ?? this.outage.reason;
      work.callback(reason ?? new DatabaseUnavailable('all database connections are busy'));
    }
    if (this.waiting.length > 0) this.watch(Math.min(...this.waiting.map(endOf)));
  }
}

const endOf = ({ requested, limitMs }: Work): number => requested + limitMs!;
