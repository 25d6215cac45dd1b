import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { OutageLog } from '#platform/log/outage-log';
import { Loop } from '#platform/timing/loop';
import { within } from '#platform/timing/waits';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { FAN_OUT_TO_CROWDS, NEXT_CROWDS } from './fan-out.sql';

/** Events that one statement serves, of as many subjects as there are, and the webhooks that they share. */
const EVENTS = 10;
const WEBHOOKS = 2000;
/** How often a process looks for what another one has left, and how long it waits after a failure. */
const LOOK_MS = 5000;
const FAILED_MS = 1000;
/** A statement that still runs at shutdown after this time is left to its deadline. */
const STOP_MS = 4000;

/**
 * Makes the deliveries of events that have more webhooks than are served at once. Each subject (a pool, or everyone) has
 * its turn, so that the crowd of one delays that of another by one share. Every process does this; what each statement
 * does is stored with the place that it has come to.
 */
@Injectable()
export class WebhookCrowds implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WebhookCrowds.name);
  private readonly loop = new Loop(
    () => this.serve(),
    (hasFailed) => (hasFailed ? FAILED_MS : LOOK_MS),
    new OutageLog(this.logger, 'crowds of webhooks have to wait'),
  );
  /** The subject that was served last. */
  private after = '';
  /** Of a statement, halved by failures. */
  private events = EVENTS;

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

  /** Looks now. */
  hurry(): void {
    this.loop.hurry();
  }

  private async serve(): Promise<void> {
    while (!this.loop.signal.aborted) {
      const { after, events: most } = this;
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
    const most = Math.ceil((WEBHOOKS * this.events) / EVENTS);
    try {
      const done = await this.database.write(FAN_OUT_TO_CROWDS, { subjects, events, most });
      this.events = Math.min(EVENTS, 2 * this.events);
      return done!.taken;
    } catch (error) {
      this.events = Math.ceil(this.events / 2);
      if (events.length === 1) this.logger.error(`event ${events[0]} did not reach its crowd`, error);
      throw error;
    }
  }
}
