import { Injectable, type Logger } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { randomUUID } from 'node:crypto';
import type { Counter, Gauge } from 'prom-client';
import type { Database } from '#platform/database/database';
import { redactText } from '#platform/log/redact';
import { isUnavailable } from '#platform/postgres/unavailable';
import { Loop } from '#platform/timing/loop';
import { BEGINNING, type LedgerEvent, type OutboxCursor, eventsOf } from './ledger-event';
import type { EventHandler } from './on-ledger-event';
import {
  ASKED_AGAIN,
  type ConsumerState,
  HOLD_CONSUMER,
  MOVE_CONSUMER,
  type Move,
  type OutboxRow,
  READ_OUTBOX,
  SET_ASIDE,
  TRIED_AGAIN,
} from './outbox.sql';
import { UnknownTopics } from './unknown-topics';

/** A process holds a consumer for this time, and extends the hold this often while the handler works. */
const HOLD_MS = 15_000;
const PROLONG_MS = 1000;
/** If a process has not extended its hold for this time, it stops: another process may soon take over. */
const HELD_MS = 10_000;
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

/** Metrics of the consumers of this process. */
@Injectable()
export class ConsumerMetrics {
  constructor(
    @InjectMetric('outbox_lag_seconds') readonly lag: Gauge<'consumer'>,
    @InjectMetric('outbox_failures_total') readonly failures: Counter<'consumer'>,
    @InjectMetric('outbox_set_aside_total') readonly setAside: Counter<'consumer'>,
  ) {}
}

/** The events that the handler failed with, the cursor after them, and the error. */
interface Failure {
  events: LedgerEvent[];
  end: OutboxCursor;
  cause: unknown;
}

/**
 * Passes a handler the events that its consumer has not handled, while this process holds the consumer. Progress is
 * stored from time to time.
 */
export class Delivery {
  private readonly unknown: UnknownTopics;
  private busy = false;
  private stopping = false;
  /** Identifies the current hold. */
  private holder = '';
  private state: ConsumerState = { ...BEGINNING, suspects: 0, failures: 0 };
  private heldSince = 0;
  private lost = false;
  /** Seconds during which no process may take the consumer. */
  private wait = 0;
  private failingSeconds = 0;
  private failed?: Failure;

  constructor(
    readonly handler: EventHandler,
    private readonly database: Database,
    private readonly metrics: ConsumerMetrics,
    private readonly logger: Logger,
  ) {
    const { consumer } = handler;
    this.unknown = new UnknownTopics(logger, consumer);
    metrics.failures.inc({ consumer }, 0);
    metrics.setAside.inc({ consumer }, 0);
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
    // If an extension fails, the next one may still be in time.
    const holding = new Loop(
      () => this.prolong(),
      () => PROLONG_MS,
    );
    try {
      const name = this.handler.consumer;
      this.holder = randomUUID();
      this.heldSince = performance.now();
      const hold = { name, holder: this.holder, seconds: HOLD_MS / 1000 };
      const row = await this.database.write(HOLD_CONSUMER, hold);
      if (!row) return false;
      const { xid, position, item, suspects, failures, failingSeconds, missed, askedAgain } = row;
      this.state = { xid, position: Number(position), item, suspects, failures };
      this.failingSeconds = failingSeconds;
      this.lost = false;
      this.wait = 0;
      this.failed = undefined;
      if (missed) this.logger.error(`${name} has missed events: it had not read them when they were removed`);
      holding.start();
      const more = await (askedAgain ? this.handleAgain() : this.handleRows());
      // Before `fail` moves past an event: an extension would store that before the event is set aside.
      await holding.stop();
      if (this.failed) await this.fail(this.failed);
      await this.move(0, this.wait);
      return more && !this.stopping;
    } finally {
      await holding.stop();
      this.busy = false;
    }
  }

  private async fail({ events, end, cause }: Failure): Promise<void> {
    const { consumer, setsAside } = this.handler;
    const suspects = events.length;
    // A single one has failed by itself; of several, one is found by halves, and it is not its fault that it takes long.
    const failures = suspects > 1 ? 0 : this.state.failures + 1;
    const isEnough =
      failures >= SetAsideRule.tries &&
      (!isUnavailable(cause) || this.failingSeconds >= SetAsideRule.unavailableSeconds);
    const [event] = events;
    if (setsAside && isEnough) {
      this.advance(end, 1);
      const what = { id: event.id, event: JSON.stringify(event), error: reasonOf(cause) };
      const isStored = await this.database.write(SET_ASIDE, { ...this.moved(0, 0), ...what });
      if (isStored) this.reportSetAside(event, cause);
      return;
    }
    const doubled = Math.min(Math.max(0, failures - 1), 20);
    this.wait = Math.min(FIRST_WAIT_MS * 2 ** doubled, LONGEST_WAIT_MS) / 1000;
    this.metrics.failures.inc({ consumer });
    const what = suspects > 1 ? `${suspects} events from ${event.id} on` : `event ${event.id}`;
    this.logger.error(
      `${consumer} failed with ${what}; retrying ${suspects > 1 ? 'half of them ' : ''}in ${this.wait} s`,
      cause,
    );
    this.state = { ...this.state, suspects, failures };
  }

  private reportSetAside({ id }: LedgerEvent, cause: unknown): void {
    const { consumer } = this.handler;
    this.metrics.setAside.inc({ consumer });
    this.logger.error(`${consumer} dead-lettered event ${id}, see outbox_set_aside`, cause);
  }

  /** @returns whether there may be more for this process */
  private async handleRows(): Promise<boolean> {
    const rows = await this.database.readAll(READ_OUTBOX, { ...this.state, rows: ROWS, events: EVENTS });
    for (const row of rows) if (!(await this.handleRow(row))) return false;
    return rows.length > 0;
  }

  /** @returns whether it was handled to its end */
  private async handleRow(row: OutboxRow): Promise<boolean> {
    const { xid, count } = row;
    const position = Number(row.position);
    const isBegun = xid === this.state.xid && position === this.state.position;
    const events = eventsOf(row);
    const begin = isBegun ? this.state.item : 0;
    const end = this.unknown.endOf(events, begin);
    const wanted = [...events.keys()]
      .slice(begin, end)
      .filter((n) => this.handler.topics.has(events[n].topic));
    while (wanted.length > 0) {
      if (this.mustStop) return false;
      const { suspects } = this.state;
      const next = wanted.splice(0, suspects > 0 ? Math.ceil(suspects / 2) : this.handler.most);
      const place = { xid, position, item: next.at(-1)! + 1 };
      const given = next.map((n) => events[n]);
      const failure = await this.failureOf(given);
      if (failure) {
        this.failed = { ...failure, events: given, end: place };
        return false;
      }
      this.advance(place, next.length);
    }
    if (end > begin) this.advance({ xid, position, item: end }, 0);
    return end === count;
  }

  /** Handles events that were set aside and that an operator wants handled again, each alone, before what is new. */
  private async handleAgain(): Promise<boolean> {
    const name = this.handler.consumer;
    for (const { event } of await this.database.readAll(ASKED_AGAIN, { name, most: AGAIN })) {
      if (this.mustStop) break;
      const failure = await this.failureOf([event]);
      if (failure) this.reportSetAside(event, failure.cause);
      const error = failure ? reasonOf(failure.cause) : null;
      await this.database.write(TRIED_AGAIN, { name, id: event.id, error });
    }
    return true;
  }

  /** Passes events to the handler. @returns undefined if it has handled them */
  private async failureOf(events: LedgerEvent[]): Promise<{ cause: unknown } | undefined> {
    try {
      await this.handler.handle(events);
      return undefined;
    } catch (cause) {
      return { cause };
    }
  }

  /** Whether no further event may be handled: the process stops, or another may have taken the consumer. */
  private get mustStop(): boolean {
    return this.stopping || this.lost || performance.now() - this.heldSince >= HELD_MS;
  }

  /** Moves the cursor past events, of which the handler has handled this many. */
  private advance(to: OutboxCursor, events: number): void {
    const { suspects } = this.state;
    this.state =
      events > 0
        ? { ...to, suspects: Math.max(0, suspects - events), failures: 0 }
        : { ...this.state, ...to };
  }

  private async prolong(): Promise<void> {
    const began = performance.now();
    this.lost = !(await this.move(HOLD_MS / 1000, 0));
    this.heldSince = began;
  }

  /**
   * Stores the progress.
   * @param seconds how long the hold lasts from now on
   * @param wait seconds during which no process may take the consumer
   * @returns false if another process has taken it
   */
  private async move(seconds: number, wait: number): Promise<boolean> {
    return (await this.database.write(MOVE_CONSUMER, this.moved(seconds, wait))) !== undefined;
  }

  private moved(seconds: number, wait: number): Move {
    return { name: this.handler.consumer, holder: this.holder, ...this.state, seconds, wait };
  }
}

const reasonOf = (error: unknown): string =>
  redactText(error instanceof Error ? error.message : String(error))
    .replaceAll('\0', '')
    .slice(0, 1000);
