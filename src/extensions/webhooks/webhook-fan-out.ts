import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { OutageLog } from '#platform/log/outage-log';
import { Loop } from '#platform/timing/loop';
import { within } from '#platform/timing/waits';
import { type LedgerEvent, TOPICS } from '#ledger/outbox/ledger-event';
import { OnLedgerEvent } from '#ledger/outbox/on-ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { audienceOf } from '#extensions/events/readers.sql';
import { FAN_OUT, FAN_OUT_TO_CROWD, type FannedOut, NEXT_CROWD } from './fan-out.sql';

/** Events of one statement, and of one for a crowd. */
const EVENTS = 100;
const CROWD_EVENTS = 10;
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
  /** Subjects that have failed. Several of their events at once may be too much for the database. */
  private readonly failed = new Set<string>();

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

  @OnLedgerEvent(TOPICS, { consumer: 'webhooks', most: EVENTS, setsAside: true })
  async onEvents(events: LedgerEvent[]): Promise<void> {
    const made = await this.database.write(FAN_OUT, {
      events: JSON.stringify(
        events.map((event): FannedOut => {
          const { id, topic } = event;
          return { id, topic, body: JSON.stringify(event), ...audienceOf(event) };
        }),
      ),
    });
    if (made!.crowds > 0) this.loop.hurry();
    this.poller.hurry();
  }

  /** Runs until a complete round through all subjects finds nothing, or only what other processes are serving. */
  private async serveCrowds(): Promise<void> {
    let taken = 0;
    // After a failure the round starts behind the subject that failed, so its end does not show that nothing is left.
    let isWhole = this.after === '';
    while (!this.loop.signal.aborted) {
      const next = await this.database.read(NEXT_CROWD, { after: this.after });
      // Stored first, so that others have their turn if this one fails.
      this.after = next?.subject ?? '';
      if (next) {
        taken += await this.serve(next.subject);
        this.poller.hurry();
      } else if (isWhole && taken === 0) return this.failed.clear();
      else [isWhole, taken] = [true, 0];
    }
  }

  private async serve(subject: string): Promise<number> {
    try {
      const events = this.failed.has(subject) ? 1 : CROWD_EVENTS;
      return (await this.database.write(FAN_OUT_TO_CROWD, { subject, events }))!.taken;
    } catch (error) {
      this.failed.add(subject);
      throw error;
    }
  }
}
