import { backoff } from '../wait.js';

/** What comes within this time is read together: one change of the ledger causes several events. */
const TOGETHER_MS = 150;
/** Everyone whom an event concerns gets it in the same moment, and they must not all read at once. */
const JITTER_MS = 350;
/** So many reads at once, and another one every half minute: at most 40 in the quarter of an hour of the limit. */
const AT_ONCE = 10;
const ANOTHER_MS = 30_000;
const FIRST_WAIT_MS = 1_000;
const MOST_WAIT_MS = 60_000;

/** Reads on request: once for all that ask within a moment, and never more often than the limits bear. */
export class Reader {
  private left = AT_ONCE;
  private countedAt = Date.now();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isReading = false;
  private isWanted = false;
  private failures = 0;

  /** @param read resolves to whether it was of use; may throw */
  constructor(
    private readonly read: () => Promise<boolean>,
    /** Until when nothing may be read. */
    private readonly pausedUntil: () => number | null,
  ) {}

  /** Wants a read that begins after this. */
  want(): void {
    this.isWanted = true;
    if (!this.isBusy) this.plan(TOGETHER_MS + Math.random() * JITTER_MS);
  }

  /** Whether it reads, or is about to. */
  get isBusy(): boolean {
    return this.isReading || this.timer !== undefined;
  }

  /** A wait after a failure is over: the service answers again. */
  soon(): void {
    if (this.timer === undefined || this.failures === 0) return;
    clearTimeout(this.timer);
    this.plan(TOGETHER_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isWanted = false;
  }

  private plan(leastMs: number): void {
    const now = Date.now();
    const gained = Math.floor((now - this.countedAt) / ANOTHER_MS);
    this.left = Math.min(AT_ONCE, this.left + gained);
    this.countedAt = this.left === AT_ONCE ? now : this.countedAt + gained * ANOTHER_MS;
    const turnMs = this.left > 0 ? 0 : this.countedAt + ANOTHER_MS - now;
    const pauseMs = (this.pausedUntil() ?? 0) - now;
    this.timer = setTimeout(() => void this.run(), Math.max(leastMs, turnMs, pauseMs));
  }

  private async run(): Promise<void> {
    this.timer = undefined;
    if ((this.pausedUntil() ?? 0) > Date.now()) return this.plan(0);
    this.isWanted = false;
    this.isReading = true;
    this.left--;
    // One that fails, or was of no use, is still wanted.
    const used = await this.read().catch(() => false);
    this.failures = used ? 0 : this.failures + 1;
    this.isReading = false;
    if (!used) this.plan(backoff(this.failures, FIRST_WAIT_MS, MOST_WAIT_MS));
    else if (this.isWanted) this.plan(TOGETHER_MS);
  }
}
