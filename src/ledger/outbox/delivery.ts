import { randomUUID } from 'node:crypto';
import type { Database } from '#platform/database/database';
import type { EventHandler } from './handler-explorer';
import { type OutboxCursor, type LedgerEvent, eventsOf } from './ledger-event';
import { HOLD_CONSUMER, MOVE_CONSUMER, READ_OUTBOX } from './outbox.sql';
import type { UnknownTopics } from './unknown-topics';

/** A process holds a consumer for this time, and extends the hold this often while the handler works. */
const HOLD_MS = 15_000;
const PROLONG_MS = 1000;
/** If a process has not extended its hold for this time, it stops: another process may soon take over. */
const HELD_MS = 10_000;
/** Limits of a batch: the number of rows, and the number of events after which no more rows are read. */
const ROWS = 200;
const EVENTS = 1000;
/** Waits after failures: the first one, doubled each time up to the longest. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 300_000;

/** Gets what went wrong. */
export interface TroubleListener {
  failed: (event: LedgerEvent, error: unknown, waitSeconds: number) => void;
  /** Called when events were removed before the consumer handled them. */
  missed: () => void;
}

class EventFailed extends Error {
  constructor(
    readonly event: LedgerEvent,
    override readonly cause: unknown,
  ) {
    super('the handler failed');
  }
}

/** Passes a handler the events that its consumer has not handled, while this process holds the consumer. */
export class Delivery {
  private busy = false;
  private stopping = false;

  constructor(
    readonly handler: EventHandler,
    private readonly database: Database,
    private readonly troubles: TroubleListener,
    private readonly unknown: UnknownTopics,
  ) {}

  /** Whether this process may take a batch: it handles none, and has not just left one to a newer version. */
  get isReady(): boolean {
    return !this.busy && !this.unknown.isResting;
  }

  /** Stops after the current event. */
  stop(): void {
    this.stopping = true;
  }

  /**
   * Handles one batch, unless another process is handling one.
   * @returns whether there may be more
   * @throws like Database.write
   */
  async run(): Promise<boolean> {
    this.busy = true;
    try {
      const holder = randomUUID();
      const began = performance.now();
      const name = this.handler.consumer;
      const row = await this.database.write(HOLD_CONSUMER, { name, holder, seconds: HOLD_MS / 1000 });
      if (!row) return false;
      const { xid, position, item, failures, missed } = row;
      if (missed) this.troubles.missed();
      const hold = new Hold(this.database, name, holder, { xid, position: Number(position), item }, began);
      return await this.deliver(hold, failures).finally(() => hold.end());
    } finally {
      this.busy = false;
    }
  }

  private async deliver(hold: Hold, failures: number): Promise<boolean> {
    const begin = hold.cursor;
    try {
      const found = await this.handleBatch(hold);
      await hold.release();
      return found && !this.stopping;
    } catch (error) {
      if (!(error instanceof EventFailed)) throw error;
      // Start counting again if the failed event is not the one that failed before.
      const count = hold.cursor === begin ? failures + 1 : 1;
      const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(count - 1, 20), LONGEST_WAIT_MS) / 1000;
      this.troubles.failed(error.event, error.cause, wait);
      await hold.release(count, wait);
      return false;
    }
  }

  /** @returns whether there may be more for this process */
  private async handleBatch(hold: Hold): Promise<boolean> {
    const rows = await this.database.readAll(READ_OUTBOX, { ...hold.cursor, rows: ROWS, events: EVENTS });
    for (const row of rows) {
      const { xid, count } = row;
      const position = Number(row.position);
      const isBegun = xid === hold.cursor.xid && position === hold.cursor.position;
      const events = eventsOf(row);
      const begin = isBegun ? hold.cursor.item : 0;
      const end = this.unknown.endOf(events, begin);
      const step = this.handler.isBatched ? count : 1;
      for (let n = begin; n < end; n += step) {
        if (this.stopping || !hold.isSafe) return false;
        const next = Math.min(n + step, end);
        const wanted = events.slice(n, next).filter(({ topic }) => this.handler.topics.has(topic));
        if (wanted.length > 0) await this.handle(wanted);
        hold.cursor = { xid, position, item: next };
      }
      if (end < count) return false;
    }
    return rows.length > 0;
  }

  private async handle(events: LedgerEvent[]): Promise<void> {
    try {
      await this.handler.handle(events);
    } catch (error) {
      throw new EventFailed(events[0], error);
    }
  }
}

/** A consumer that this process holds. Progress is stored from time to time. */
class Hold {
  private readonly timer: NodeJS.Timeout;
  private prolonging?: Promise<void>;
  private lost = false;

  constructor(
    private readonly database: Database,
    private readonly name: string,
    private readonly holder: string,
    public cursor: OutboxCursor,
    private since: number,
  ) {
    this.timer = setInterval(() => {
      this.prolonging ??= this.prolong();
    }, PROLONG_MS);
  }

  /** Whether it is certain that no other process has taken the consumer. */
  get isSafe(): boolean {
    return !this.lost && performance.now() - this.since < HELD_MS;
  }

  end(): void {
    clearInterval(this.timer);
  }

  /** @param wait seconds during which no process may take it */
  async release(failures = 0, wait = 0): Promise<void> {
    this.end();
    await this.prolonging;
    await this.move(0, failures, wait);
  }

  private async prolong(): Promise<void> {
    const began = performance.now();
    try {
      this.lost = !(await this.move(HOLD_MS / 1000, 0, 0));
      this.since = began;
    } catch {
      // If this fails, the next attempt may still be in time.
    } finally {
      this.prolonging = undefined;
    }
  }

  private async move(seconds: number, failures: number, wait: number): Promise<boolean> {
    const { name, holder, cursor } = this;
    const moved = await this.database.write(MOVE_CONSUMER, {
      name,
      holder,
      ...cursor,
      seconds,
      failures,
      wait,
    });
    return moved !== undefined;
  }
}
