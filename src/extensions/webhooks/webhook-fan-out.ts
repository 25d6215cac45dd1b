import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { OutageLog } from '#platform/log/outage-log';
import { Loop } from '#platform/timing/loop';
import { within } from '#platform/timing/waits';
import { type LedgerEvent, TOPICS } from '#ledger/outbox/ledger-event';
import { OnLedgerEvents } from '#ledger/outbox/on-ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { audienceOf } from '#extensions/events/readers.sql';
import { FAN_OUT, FAN_OUT_TO_CROWDS, NEXT_CROWDS } from './fan-out.sql';

/** Events of one statement, and the webhooks of each beside those of its account, of which a user has ten at most. */
const EVENTS = 100;
const EACH = 10;
/** Events of crowds that one statement serves, of as many subjects as there are, and the webhooks that they share. */
const CROWDS = 10;
const WEBHOOKS = 2000;
/** How often a process looks for crowds that another one has left, and how long it waits after a failure. */
const LOOK_MS = 5000;
const FAILED_MS = 1000;
/** A statement that still runs at shutdown after this time is left to its deadline. */
const STOP_MS = 4000;

/**
 * Turns events into deliveries, which are kept for seven days. Each event gets a few at once, and the rest of its
 * webhooks, a crowd, waits for its turn, so the next event waits for no crowd. Each subject (a pool, or everyone) has its
 * turn, so that the crowd of one delays that of another by one share. Every process does this; each statement stores its
 * deliveries together with the cursor that it has reached.
 */
@Injectable()
export class WebhookFanOut implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WebhookFanOut.name);
  private readonly loop = new Loop(
    () => this.serveCrowds(),
    (hasFailed) => (hasFailed ? FAILED_MS : LOOK_MS),
    new OutageLog(this.logger, 'bulk fan-out failed; retrying'),
  );
  /** The subject that was served last. */
  private after = '';
  /** Events of a statement for crowds, halved by failures. */
  private most = CROWDS;

  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
  ) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onModuleDestroy(): Promise<void> {
    await within(STOP_MS, this.loop.stop());
  }

  @OnLedgerEvents(TOPICS, { consumer: 'webhooks', most: EVENTS, setsAside: true })
  async onEvents(events: LedgerEvent[]): Promise<void> {
    const audiences = events.map(audienceOf);
    const made = await this.database.write(FAN_OUT, {
      ids: events.map(({ id }) => id),
      topics: events.map(({ topic }) => topic),
      bodies: events.map((event) => JSON.stringify(event)),
      areForAll: audiences.map(({ isForAll }) => isForAll),
      pools: audiences.map(({ pool }) => pool),
      accounts: audiences.map(({ account }) => account),
      each: EACH,
    });
    if (made!.crowds > 0) this.loop.hurry();
    this.poller.hurry();
  }

  private async serveCrowds(): Promise<void> {
    while (!this.loop.signal.aborted) {
      const { after, most } = this;
      const heads = await this.database.readAll(NEXT_CROWDS, { after, most });
      // Stored first, so that others have their turn if this one fails.
      const isRound = new Set(heads.map(({ subject }) => subject)).size < most;
      this.after = isRound ? '' : heads.at(-1)!.subject;
      const taken = heads.length > 0 ? await this.take(heads) : 0;
      if (taken === 0 && after === '' && isRound) return;
      this.poller.hurry();
    }
  }

  private async take(heads: { subject: string; event: string }[]): Promise<number> {
    const subjects = heads.map(({ subject }) => subject);
    const events = heads.map(({ event }) => event);
    const most = Math.ceil((WEBHOOKS * this.most) / CROWDS);
    try {
      const done = await this.database.write(FAN_OUT_TO_CROWDS, { subjects, events, most });
      this.most = Math.min(CROWDS, 2 * this.most);
      return done!.taken;
    } catch (error) {
      this.most = Math.ceil(this.most / 2);
      if (events.length === 1) this.logger.error(`bulk fan-out of event ${events[0]} failed`, error);
      throw error;
    }
  }
}
