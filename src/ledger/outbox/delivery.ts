import { randomUUID } from 'node:crypto';
import type { Database } from '#platform/database/database';
import { redactText } from '#platform/log/redact';
import { isUnavailable } from '#platform/postgres/unavailable';
import type { EventHandler } from './handler-explorer';
import { HOLD_MS, Hold } from './hold';
import { type LedgerEvent, type OutboxCursor, eventsOf } from './ledger-event';
import { ASKED_AGAIN, HOLD_CONSUMER, type OutboxRow, READ_OUTBOX, TRIED_AGAIN } from './outbox.sql';
import type { UnknownTopics } from './unknown-topics';

/** Limits of a read: the number of rows, and the number of events after which no more rows are read. */
const ROWS = 200;
const EVENTS = 1000;
/** Waits after failures: the first one, doubled each time that an event fails alone up to the longest. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 300_000;
/**
 * An event is set aside when it has failed alone so many times in a row, with 15 seconds of waits between them. While
 * the database is the reason it is most likely not the event's fault, so that takes longer. During an outage nothing can
 * be stored, so neither does the time begin nor can it end.
 */
export const SetAsideRule = { tries: 6, unavailableSeconds: 600 } as const;
/** Events handled again between two looks at what is new. */
const AGAIN = 100;

/** Gets what went wrong. */
export interface TroubleListener {
  failed: (events: LedgerEvent[], error: unknown, waitSeconds: number) => void;
  setAside: (event: LedgerEvent, error: unknown) => void;
  /** Called when events were removed before the consumer handled them. */
  missed: () => void;
}

class EventsFailed extends Error {
  constructor(
    readonly events: LedgerEvent[],
    /** The place behind them. */
    readonly end: OutboxCursor,
    override readonly cause: unknown,
  ) {
    super('the handler failed');
  }
}

/** Passes a handler the events that its consumer has not handled, while this process holds the consumer. */
export class Delivery {
  private busy = false;
  private stopping = false;
  /** How many events the handler gets at once while none is suspected. */
  private size: number;

  constructor(
    readonly handler: EventHandler,
    private readonly database: Database,
    private readonly troubles: TroubleListener,
    private readonly unknown: UnknownTopics,
  ) {
    this.size = handler.most;
  }

  /** Whether this process may take a batch: it handles none, and has not just left one to a newer version. */
  get isReady(): boolean {
    return !this.busy && !this.unknown.isResting;
  }

  /** Stops after the current call of the handler. */
  stop(): void {
    this.stopping = true;
  }

  /**
   * Handles some rows, unless another process is handling them.
   * @returns whether there may be more
   * @throws like Database.write
   */
  async run(): Promise<boolean> {
    this.busy = true;
    try {
      const consumer = { name: this.handler.consumer, holder: randomUUID() };
      const began = performance.now();
      const row = await this.database.write(HOLD_CONSUMER, { ...consumer, seconds: HOLD_MS / 1000 });
      if (!row) return false;
      const { xid, position, item, suspects, failures, failingSeconds, missed, askedAgain } = row;
      if (missed) this.troubles.missed();
      const state = { xid, position: Number(position), item, suspects, failures };
      const hold = new Hold(this.database, consumer, state, began);
      const handled = askedAgain ? this.handleAgain(hold) : this.deliver(hold, failingSeconds);
      return await handled.finally(() => hold.end());
    } finally {
      this.busy = false;
    }
  }

  private async deliver(hold: Hold, failingSeconds: number): Promise<boolean> {
    try {
      const found = await this.handleRows(hold);
      await hold.release();
      return found && !this.stopping;
    } catch (error) {
      if (!(error instanceof EventsFailed)) throw error;
      await this.fail(hold, error, failingSeconds);
      return false;
    }
  }

  private async fail(
    hold: Hold,
    { events, end, cause }: EventsFailed,
    failingSeconds: number,
  ): Promise<void> {
    const suspects = events.length;
    this.size = Math.ceil(suspects / 2);
    // A single one has failed by itself; of several, one is found by halves, and it is not its fault that it takes long.
    const failures = suspects > 1 ? 0 : hold.failures + 1;
    const isEnough =
      failures >= SetAsideRule.tries &&
      (!isUnavailable(cause) || failingSeconds >= SetAsideRule.unavailableSeconds);
    if (this.handler.setsAside && isEnough) {
      if (await hold.setAside(events[0], end, reasonOf(cause))) this.troubles.setAside(events[0], cause);
      return;
    }
    const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(Math.max(0, failures - 1), 20), LONGEST_WAIT_MS);
    this.troubles.failed(events, cause, wait / 1000);
    await hold.release(wait / 1000, { suspects, failures });
  }

  /** @returns whether there may be more for this process */
  private async handleRows(hold: Hold): Promise<boolean> {
    const rows = await this.database.readAll(READ_OUTBOX, { ...hold.cursor, rows: ROWS, events: EVENTS });
    for (const row of rows) if (!(await this.handleRow(hold, row))) return false;
    return rows.length > 0;
  }

  /** @returns whether it was handled to its end */
  private async handleRow(hold: Hold, row: OutboxRow): Promise<boolean> {
    const { xid, count } = row;
    const position = Number(row.position);
    const isBegun = xid === hold.cursor.xid && position === hold.cursor.position;
    const events = eventsOf(row);
    const begin = isBegun ? hold.cursor.item : 0;
    const end = this.unknown.endOf(events, begin);
    const wanted = [...events.keys()]
      .slice(begin, end)
      .filter((n) => this.handler.topics.has(events[n].topic));
    while (wanted.length > 0) {
      if (this.stopping || !hold.isSafe) return false;
      const next = wanted.splice(0, hold.suspects > 0 ? Math.ceil(hold.suspects / 2) : this.size);
      const place = { xid, position, item: next.at(-1)! + 1 };
      await this.handle(
        next.map((n) => events[n]),
        place,
      );
      hold.advance(place, next.length);
      if (hold.suspects === 0) this.size = Math.min(this.handler.most, 2 * Math.max(this.size, next.length));
    }
    if (end > begin) hold.advance({ xid, position, item: end }, 0);
    return end === count;
  }

  private async handle(events: LedgerEvent[], end: OutboxCursor): Promise<void> {
    try {
      await this.handler.handle(events);
    } catch (error) {
      throw new EventsFailed(events, end, error);
    }
  }

  /** Handles events that were set aside and that an operator wants handled again, each alone, before what is new. */
  private async handleAgain(hold: Hold): Promise<boolean> {
    const name = this.handler.consumer;
    for (const { event } of await this.database.readAll(ASKED_AGAIN, { name, most: AGAIN })) {
      if (this.stopping || !hold.isSafe) break;
      const error = await this.failureOf(event);
      await this.database.write(TRIED_AGAIN, { name, id: event.id, error });
    }
    await hold.release();
    return !this.stopping;
  }

  private async failureOf(event: LedgerEvent): Promise<string | null> {
    try {
      await this.handler.handle([event]);
      return null;
    } catch (error) {
      this.troubles.setAside(event, error);
      return reasonOf(error);
    }
  }
}

const reasonOf = (error: unknown): string =>
  redactText(error instanceof Error ? error.message : String(error))
    .replaceAll('\0', '')
    .slice(0, 1000);
