import type { ErrorCode } from './errors.js';
import { type Observable, Subject } from './observable.js';
import { unref } from './wait.js';

export interface ConnectionState {
  /** Whether the service has given no answer for five seconds. It is asked further. */
  readonly unreachable: boolean;
  /** When requests are sent again, in milliseconds since 1970: the service has asked to wait until then. */
  readonly pausedUntil: number | null;
}

/** A refusal for too many requests, and until when it holds. */
export interface Pause {
  readonly code: ErrorCode;
  readonly message: string;
  readonly until: number;
}

const ANSWER_MS = 5_000;

/** What is known of the way to the service: whether it answers, and whether it wants to be asked now. */
export class Connection implements Observable<ConnectionState> {
  private readonly subject = new Subject<ConnectionState>({ unreachable: false, pausedUntil: null });
  private pause: Pause | undefined;
  private inFlight = 0;
  private late: ReturnType<typeof setTimeout> | undefined;
  private over: ReturnType<typeof setTimeout> | undefined;
  readonly subscribe = this.subject.subscribe;

  /** @param tell says to the other tabs that the service wants no requests */
  constructor(private readonly tell: (pause: Pause) => void) {}

  get state(): ConnectionState {
    return this.subject.state;
  }

  /** Counts a request that was sent. */
  asked(): void {
    this.inFlight++;
    this.watch();
  }

  answered(): void {
    this.inFlight--;
    this.reached();
  }

  failed(): void {
    this.inFlight--;
  }

  /** The caller did not want to wait any longer, which says nothing about the service. */
  abandoned(): void {
    if (--this.inFlight === 0) this.unwatch();
  }

  /** Something of it has arrived. */
  reached(): void {
    this.unwatch();
    if (this.inFlight > 0) this.watch();
    this.subject.change({ unreachable: false });
  }

  /** Keeps what the service refused: until its time nothing is sent, by no tab. */
  paused(pause: Pause, isOwn = true): void {
    if (pause.until <= Math.max(Date.now(), this.pause?.until ?? 0)) return;
    this.pause = pause;
    clearTimeout(this.over);
    this.over = setTimeout(() => this.resumed(), pause.until - Date.now());
    unref(this.over);
    this.subject.change({ pausedUntil: pause.until });
    if (isOwn) this.tell(pause);
  }

  /** What stands against sending a request now. */
  get pausing(): Pause | undefined {
    return this.pause && this.pause.until > Date.now() ? this.pause : undefined;
  }

  private resumed(): void {
    this.pause = undefined;
    this.subject.change({ pausedUntil: null });
  }

  private watch(): void {
    if (this.late !== undefined) return;
    this.late = setTimeout(() => this.subject.change({ unreachable: true }), ANSWER_MS);
    unref(this.late);
  }

  private unwatch(): void {
    clearTimeout(this.late);
    this.late = undefined;
  }
}
