import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { pause } from '#platform/timing/waits';
import { type LedgerEvent, TOPICS } from '#ledger/outbox/ledger-event';
import { OnLedgerEvent } from '#ledger/outbox/on-ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { audienceOf } from '#extensions/events/readers.sql';
import { FAN_OUT, FAN_OUT_TO_CROWD, type FannedOut, NEXT_CROWD } from './fan-out.sql';

/** Events of one statement, and of one for a crowd. */
const EVENTS = 100;
const CROWD_EVENTS = 10;
/** How often a process looks for crowds that another one has left, and how long crowds wait after a failure. */
const LOOK_MS = 5000;
const FAILED_MS = 1000;

/**
 * Turns events into deliveries, which are kept for seven days. Each event gets a few at once, and the rest of its
 * webhooks, a crowd, waits for its turn, so the next event waits for no crowd. Each subject (a pool, or everyone) has its
 * turn, so that the crowd of one delays that of another by one share. Every process does this; each statement stores its
 * deliveries together with the cursor that it has reached.
 */
@Injectable()
export class WebhookFanOut implements OnApplicationBootstrap {
  /** The subject that was served last. */
  private after = '';
  /** As a `performance.now()`. */
  private lookAt = -Infinity;
  /** Subjects that have failed. Several of their events at once may be too much for the database. */
  private readonly failed = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
  ) {}

  onApplicationBootstrap(): void {
    this.poller.add('bulk fan-out', () => this.serveCrowd());
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
    if (made!.crowds > 0) this.lookAt = -Infinity;
    this.poller.hurry();
  }

  /** Gives the next subject its turn. */
  private async serveCrowd(): Promise<void> {
    // A look passes over all that was removed since the oldest snapshot, such as a backup's.
    if (performance.now() < this.lookAt) return;
    this.lookAt = performance.now() + LOOK_MS;
    const next = await this.database.read(NEXT_CROWD, { after: this.after });
    if (!next) return this.failed.clear();
    this.lookAt = -Infinity;
    const { subject } = next;
    // Stored first, so that others have their turn if this one fails.
    this.after = subject;
    const events = this.failed.has(subject) ? 1 : CROWD_EVENTS;
    try {
      const served = await this.database.write(FAN_OUT_TO_CROWD, { subject, events });
      // Otherwise another process is serving it.
      if (served!.taken > 0) this.poller.hurry();
    } catch (error) {
      this.failed.add(subject);
      await pause(FAILED_MS);
      throw error;
    }
  }
}
