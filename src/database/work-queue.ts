import type { QueryResult } from 'pg';
import type { Outage } from './outage';
import type { Statement } from './statement';
import { DatabaseUnavailable } from './unavailable';

/** Limits in ms from the request for a statement. */
export interface TimeLimits {
  /** It is sent by then or never, if all connections are busy. */
  sendMs: number;
  /** The same if the server answers nobody, or the statement was certainly not done and is sent again. */
  resendMs: number;
  /** A guarded statement is done by then or never. */
  deadlineMs: number;
  /** It is answered by then. This is after the deadline, so that the server can report what happened. */
  answerMs: number;
}

/** Together with the rest of a request this stays below 5 s. */
export const LIMITS: TimeLimits = { sendMs: 1500, resendMs: 3600, deadlineMs: 3900, answerMs: 4500 };

/** A statement to run. */
export interface Work {
  statement: Statement;
  values: unknown[];
  writes: boolean;
  requested: number;
  callback: (error: Error | null, result?: QueryResult) => void;
  timeout?: NodeJS.Timeout;
  /** Why it has to be sent again. */
  failure?: Error;
}

export const older = (a: Work, b: Work): Work => (b.requested < a.requested ? b : a);

/** Reads what has arrived before a timeout counts, because in a busy process timers run before sockets. */
export const afterIo = (ms: number, callback: () => void): NodeJS.Timeout =>
  setTimeout(() => setImmediate(callback), ms);

/** Statements that wait to be sent, each until its limit. */
export class WorkQueue {
  private readonly waiting: Work[] = [];

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
    this.limit(work, this.limits.sendMs);
    let place = this.waiting.length;
    while (place > 0 && this.waiting[place - 1].requested > work.requested) place--;
    this.waiting.splice(place, 0, work);
  }

  /** Removes the first statement for which it holds. */
  take(isWanted: (work: Work) => boolean): Work | undefined {
    const index = this.waiting.findIndex(isWanted);
    if (index < 0) return undefined;
    const [work] = this.waiting.splice(index, 1);
    clearTimeout(work.timeout);
    return work;
  }

  /** Removes the first `most` statements. */
  takeFirst(most: number): Work[] {
    const works = this.waiting.splice(0, most);
    for (const { timeout } of works) clearTimeout(timeout);
    return works;
  }

  refuseAll(error: Error): void {
    for (const work of this.waiting.splice(0)) {
      clearTimeout(work.timeout);
      work.callback(error);
    }
  }

  private limit(work: Work, ms: number): void {
    work.timeout = afterIo(work.requested + ms - performance.now(), () => {
      const index = this.waiting.indexOf(work);
      if (index < 0) return;
      const { resendMs } = this.limits;
      if (ms < resendMs && (work.failure || this.isStalled(work))) return this.limit(work, resendMs);
      this.waiting.splice(index, 1);
      const reason = work.failure ?? this.outage.reason;
      work.callback(reason ?? new DatabaseUnavailable('all database connections are busy'));
    });
  }
}
