import { Injectable, type Logger } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { randomUUID } from 'node:crypto';
import type { Counter, Gauge } from 'prom-client';
import type { Database } from '#platform/database/database';
import { redactText } from '#platform/log/redact';
import { isUnavailable } from '#platform/postgres/unavailable';
import { BEGINNING, type LedgerEvent, type OutboxCursor, eventsOf, parseCursor } from './ledger-event';
import type { EventHandler } from './on-ledger-event';
import type { OutboxPoller } from './outbox-poller';
import {
  ADD_CONSUMER,
  ASKED_AGAIN,
  type ConsumerState,
  DUE_CONSUMER,
  HOLD_CONSUMER,
  HOLD_SECONDS,
  MOVE_CONSUMER,
  type Move,
  type OutboxRow,
  READ_OUTBOX,
  SET_ASIDE,
  TRIED_AGAIN,
} from './outbox.sql';
import { UnknownTopics } from './unknown-topics';

/** How often progress is stored and the hold extended between two calls of the handler. */
const PROLONG_MS = 1000;
/** How often the hold is extended during a call. */
export const EXTEND_MS = 4000;
/** Waits after failures: the first one, doubled each time that an event fails alone up to the longest. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 300_000;
/**
 * An event is set aside when it has failed alone so many times in a row, with 15 seconds of waits between them. While
 * the database is the reason it is most likely not the event's fault, so that takes longer. During an outage nothing can
 * be stored, so neither does the time begin nor can it end.
 */
export const SetAsideRule = { tries: 6, unavailableSeconds: 600 } as const;

/** Metrics of the consumers of this process. */
@Injectable()
export class ConsumerMetrics {
  constructor(
    @InjectMetric('outbox_lag_seconds') readonly lag: Gauge<'consumer'>,
    @InjectMetric('outbox_failures_total') readonly failures: Counter<'consumer'>,
    @InjectMetric('outbox_set_aside_total') readonly setAside: Counter<'consumer'>,
  ) {}
}

/**
 * Passes a handler the events that its consumer has not handled, while this process holds the consumer. Progress is
 * stored from time to time.
 */
export class Delivery {
  private readonly unknown: UnknownTopics;
  private readonly leave: () => Promise<void>;
  private isRegistered = false;
  private running?: Promise<void>;
  private stopping = false;
  /** Identifies the current hold. */
  private holder = '';
  private state: ConsumerState = { ...BEGINNING, failures: 0 };
  private heldSince = 0;
  /** Seconds during which no process may take the consumer. */
  private wait = 0;
  private failingSeconds = 0;

  constructor(
    private readonly handler: EventHandler,
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly metrics: ConsumerMetrics,
    private readonly logger: Logger,
  ) {
    const { consumer } = handler;
    this.unknown = new UnknownTopics(logger, consumer);
    metrics.failures.inc({ consumer }, 0);
    metrics.setAside.inc({ consumer }, 0);
    this.leave = poller.add(`consumer ${consumer}`, () => this.look());
  }

  /** Stops after the current call of the handler. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.leave();
    await this.running;
  }

  private async look(): Promise<void> {
    const { consumer: name, from } = this.handler;
    // Not done at startup, which does not wait for the database.
    if (!this.isRegistered) await this.database.write(ADD_CONSUMER, { name, fromNow: from === 'now' });
    this.isRegistered = true;
    const state = await this.database.read(DUE_CONSUMER, { name });
    if (!state) return;
    this.metrics.lag.set({ consumer: name }, state.lag);
    if (!state.due || this.running || this.stopping) return;
    this.running = this.run()
      .then((more) => more && this.poller.hurry())
      .catch((error: Error) => this.logger.warn(`${name} run failed; retrying: ${error.message}`))
      .then(() => (this.running = undefined));
  }

  /**
   * Handles some rows, unless another process is handling them.
   * @returns whether there may be more
   * @throws like Database.write
   */
  private async run(): Promise<boolean> {
    const name = this.handler.consumer;
    this.holder = randomUUID();
    this.heldSince = performance.now();
    const row = await this.database.write(HOLD_CONSUMER, { name, holder: this.holder });
    if (!row) return false;
    const { xid, position, item, failures, failingSeconds, missed, askedAgain } = row;
    this.state = { xid, position: Number(position), item, failures };
    this.failingSeconds = failingSeconds;
    this.wait = 0;
    if (missed) this.logger.error(`${name} has missed events: it had not read them when they were removed`);
    const more = await (askedAgain ? this.handleAgain() : this.handleRows());
    await this.move(0);
    return more && !this.stopping;
  }

  /** @returns whether there may be more for this process */
  private async handleRows(): Promise<boolean> {
    const rows = await this.database.readAll(READ_OUTBOX, this.state);
    for (const row of rows) if (!(await this.handleRow(row))) return false;
    return rows.length > 0;
  }

  /** @returns whether it was handled to its end */
  private async handleRow(row: OutboxRow): Promise<boolean> {
    const { xid, count } = row;
    const position = Number(row.position);
    const begin = xid === this.state.xid && position === this.state.position ? this.state.item : 0;
    const events = eventsOf(row, begin);
    const end = this.unknown.endOf(events);
    const wanted = events.slice(0, end).filter(({ topic }) => this.handler.topics.has(topic));
    while (wanted.length > 0) {
      // The first one alone, while it fails.
      const next = wanted.splice(0, this.state.failures > 0 ? 1 : this.handler.most);
      if (!(await this.pass(next))) return false;
    }
    if (end > 0) this.advance({ xid, position, item: begin + end });
    return begin + end === count;
  }

  /** Passes events to the handler; if several fail, each alone. @returns whether the consumer goes on after them */
  private async pass(events: LedgerEvent[]): Promise<boolean> {
    if (!(await this.mayGoOn())) return false;
    const failure = await this.failureOf(events);
    if (!failure) {
      this.advance(cursorAfter(events.at(-1)!));
      return true;
    }
    if (events.length === 1) return this.fail(events[0], failure.cause);
    this.report(
      failure.cause,
      `failed with ${events.length} events from ${events[0].id} on; trying each alone`,
    );
    for (const event of events) if (!(await this.pass([event]))) return false;
    return true;
  }

  /** @returns whether the event was set aside, so that the consumer goes on after it */
  private async fail(event: LedgerEvent, cause: unknown): Promise<boolean> {
    const failures = this.state.failures + 1;
    const isEnough =
      failures >= SetAsideRule.tries &&
      (!isUnavailable(cause) || this.failingSeconds >= SetAsideRule.unavailableSeconds);
    if (this.handler.setsAside && isEnough) {
      this.advance(cursorAfter(event));
      const what = { id: event.id, event: JSON.stringify(event), error: reasonOf(cause) };
      const isStored = await this.database.write(SET_ASIDE, { ...this.moved(HOLD_SECONDS), ...what });
      if (isStored) this.reportSetAside(event, cause);
      return isStored !== undefined;
    }
    this.wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 20), LONGEST_WAIT_MS) / 1000;
    this.report(cause, `failed with event ${event.id}; retrying in ${this.wait} s`);
    this.state = { ...this.state, failures };
    return false;
  }

  private report(cause: unknown, what: string): void {
    const { consumer } = this.handler;
    this.metrics.failures.inc({ consumer });
    this.logger.error(`${consumer} ${what}`, cause);
  }

  private reportSetAside({ id }: LedgerEvent, cause: unknown): void {
    const { consumer } = this.handler;
    this.metrics.setAside.inc({ consumer });
    this.logger.error(`${consumer} dead-lettered event ${id}, see outbox_set_aside`, cause);
  }

  /** Handles events that were set aside and that an operator wants handled again, each alone, before what is new. */
  private async handleAgain(): Promise<boolean> {
    const name = this.handler.consumer;
    for (const { event } of await this.database.readAll(ASKED_AGAIN, { name })) {
      if (!(await this.mayGoOn())) break;
      const failure = await this.failureOf([event]);
      if (failure) this.reportSetAside(event, failure.cause);
      const error = failure ? reasonOf(failure.cause) : null;
      await this.database.write(TRIED_AGAIN, { name, id: event.id, error });
    }
    return true;
  }

  /** Passes events to the handler. @returns undefined if it has handled them */
  private async failureOf(events: LedgerEvent[]): Promise<{ cause: unknown } | undefined> {
    let extension: Promise<unknown> | undefined;
    // If an extension fails, the next one may still be in time.
    const extend = (): unknown => (extension = this.move(HOLD_SECONDS).catch(() => undefined));
    const extending = setInterval(extend, EXTEND_MS).unref();
    try {
      await this.handler.handle(events);
      return undefined;
    } catch (cause) {
      return { cause };
    } finally {
      clearInterval(extending);
      // It must not come after the progress that this call makes.
      await extension;
    }
  }

  /** Whether further events may be handled: not if the process stops, or another has taken the consumer. */
  private async mayGoOn(): Promise<boolean> {
    if (this.stopping) return false;
    const now = performance.now();
    if (now - this.heldSince < PROLONG_MS) return true;
    const isHeld = await this.move(HOLD_SECONDS);
    this.heldSince = now;
    return isHeld;
  }

  private advance(to: OutboxCursor): void {
    this.state = { ...to, failures: 0 };
  }

  /**
   * Stores the progress.
   * @param seconds how long the hold lasts from now on
   * @returns false if another process has taken it
   */
  private async move(seconds: number): Promise<boolean> {
    return (await this.database.write(MOVE_CONSUMER, this.moved(seconds))) !== undefined;
  }

  private moved(seconds: number): Move {
    const { holder, wait } = this;
    return { name: this.handler.consumer, holder, ...this.state, seconds, wait };
  }
}

/** The cursor after an event is its id. */
const cursorAfter = ({ id }: LedgerEvent): OutboxCursor => parseCursor(id)!;

const reasonOf = (error: unknown): string =>
  redactText(error instanceof Error ? error.message : String(error))
    .replaceAll('\0', '')
    .slice(0, 1000);
