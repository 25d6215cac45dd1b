import type { Connection } from '../connection.js';
import { isSavingsError } from '../errors.js';
import type { SavingsEvent, StreamOptions } from '../events.js';
import type { Start } from '../types.js';
import { backoff, untilAborted, wait } from '../wait.js';

/** What the tab that leads tells the others. */
export interface Shared {
  readonly data: Start | null;
  /** The last event that was told of, from which the stream continues; undefined before the first read. */
  readonly cursor: string | undefined;
  /** Whether events arrive. */
  readonly live: boolean;
  /** Why the last read failed; null after one that did not. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The ways to the service. */
export interface Sources {
  readonly start: (signal: AbortSignal) => Promise<Start>;
  readonly events: (options: StreamOptions) => AsyncGenerator<SavingsEvent, void, undefined>;
}

/** Those for whom it is done. */
interface Audience {
  /** @param event what has happened, if that is what changed the fields */
  share(fields: Partial<Shared>, event?: SavingsEvent): void;
  /** Whether anybody looks at one of the tabs. */
  isSeen(): boolean;
}

/** Topics of what a start page does not show. */
const NOT_SHOWN = /^(webhook\.|circle\.(opened|started|completed|cancelled)$)/;
const FIRST_POLL_MS = 5_000;
const MOST_POLL_MS = 60_000;
/** A stream that the service refuses for good is tried again after this time: it may be another version by then. */
const STREAM_AGAIN_MS = 300_000;

/** Reads, and follows the stream from exactly there, for all tabs of an account. */
export class Leader {
  private readonly reader: Reader;
  private begin = (): void => undefined;
  /** The stream needs a place from which to go on. */
  private readonly begun = new Promise<void>((resolve) => (this.begin = resolve));
  private isLive = false;
  /** Whether something has happened that was not read yet, perhaps in the tab that led before. */
  private isStale = true;
  private cursor: string | undefined;
  /** Counts events: a read that began before one of them may lack it. */
  private happened = 0;
  private signal = new AbortController().signal;

  /** @param known what the previous leader has published */
  constructor(
    private readonly sources: Sources,
    private readonly connection: Connection,
    private readonly audience: Audience,
    known: Shared,
  ) {
    this.cursor = known.cursor;
    this.reader = new Reader(() => this.read());
    if (known.cursor !== undefined) this.begin();
  }

  /** Wants everything read once more. */
  refresh(): void {
    this.happened++;
    this.isStale = true;
    this.reader.want();
  }

  /** Somebody looks: what happened while nobody did is read now. */
  seen(): void {
    if (this.isStale && !this.reader.isBusy) this.reader.want();
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.signal = signal;
    // What the service did not answer, or refused for a while, it may answer now.
    const unsubscribe = this.connection.subscribe(({ unreachable, pausedUntil }) => {
      if (!unreachable && pausedUntil === null) this.reader.soon();
    });
    try {
      // After another tab has led, what it may not have read can wait until somebody looks.
      if (this.cursor === undefined || this.audience.isSeen()) this.reader.want();
      await Promise.all([this.stream(signal), this.poll(signal)]);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      unsubscribe();
      this.reader.stop();
    }
  }

  private async read(): Promise<boolean> {
    const { happened, signal } = this;
    try {
      const data = await this.sources.start(signal);
      // The answer may have been complete when the session ended.
      signal.throwIfAborted();
      this.isStale = happened !== this.happened;
      this.cursor ??= data.cursor;
      this.audience.share({ data, cursor: this.cursor, error: null });
      this.begin();
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      const { message } = error as Error;
      this.audience.share({ error: { code: isSavingsError(error) ? error.code : 'no_answer', message } });
      return false;
    }
  }

  private async stream(signal: AbortSignal): Promise<void> {
    await untilAborted(this.begun, signal);
    for (;;) {
      signal.throwIfAborted();
      try {
        const events = this.sources.events({
          signal,
          lastEventId: this.cursor,
          onAlive: () => this.live(true),
          onDisconnected: () => this.live(false),
        });
        for await (const event of events) this.happen(event);
      } catch {
        // For good: no such path, a refusal of the wallet to sign in again. Polls tell what happens until then.
        signal.throwIfAborted();
      }
      this.live(false);
      await wait(STREAM_AGAIN_MS, signal);
    }
  }

  private happen(event: SavingsEvent): void {
    this.cursor = event.id ?? this.cursor;
    if (!NOT_SHOWN.test(event.topic)) {
      this.happened++;
      this.isStale = true;
      if (this.audience.isSeen()) this.reader.want();
    }
    this.audience.share({ cursor: this.cursor }, event);
  }

  private live(isLive: boolean): void {
    this.isLive = isLive;
    this.audience.share({ live: isLive });
  }

  /** Reads from time to time while no events arrive and somebody looks. */
  private async poll(signal: AbortSignal): Promise<void> {
    for (let pauseMs = FIRST_POLL_MS; ;) {
      await wait(pauseMs, signal);
      if (this.isLive) pauseMs = FIRST_POLL_MS;
      else if (this.audience.isSeen()) {
        // A read that is under way is enough, also one that waits for the end of a limit.
        if (!this.reader.isBusy) this.reader.want();
        pauseMs = Math.min(MOST_POLL_MS, pauseMs * 2);
      }
    }
  }
}

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
class Reader {
  private left = AT_ONCE;
  private countedAt = Date.now();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isReading = false;
  private isWanted = false;
  private failures = 0;

  /** @param read resolves to whether it was of use; may throw */
  constructor(private readonly read: () => Promise<boolean>) {}

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
    this.timer = setTimeout(() => void this.run(), Math.max(leastMs, turnMs));
  }

  private async run(): Promise<void> {
    this.timer = undefined;
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
