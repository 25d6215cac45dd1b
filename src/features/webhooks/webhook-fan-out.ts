import { Injectable } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { type LedgerEvent, TOPICS } from '#ledger/outbox/ledger-event';
import { OnLedgerEvents } from '#ledger/outbox/on-ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { audienceOf } from '#features/events/readers.sql';
import { FAN_OUT } from './fan-out.sql';
import { WebhookCrowds } from './webhook-crowds';

/** Events of one statement, and the webhooks of each beside those of its account, of which a user has ten at most. */
const EVENTS = 100;
const EACH = 10;

/**
 * Turns events into deliveries, which are kept for seven days. Each event gets a few at once, and the rest of a crowd
 * waits for its turn, so the next event waits for no crowd.
 */
@Injectable()
export class WebhookFanOut {
  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly crowds: WebhookCrowds,
  ) {}

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
    if (made!.crowds > 0) this.crowds.hurry();
    this.poller.hurry();
  }
}
