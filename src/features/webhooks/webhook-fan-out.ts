import { Injectable } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { type LedgerEvent, TOPICS } from '#ledger/outbox/ledger-event';
import { OnLedgerEvents } from '#ledger/outbox/on-ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { audienceOf } from '#features/events/readers.sql';
import { FAN_OUT } from './fan-out.sql';

/** Turns events into deliveries, which are kept for seven days. */
@Injectable()
export class WebhookFanOut {
  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
  ) {}

  @OnLedgerEvents(TOPICS, { consumer: 'webhooks' })
  async onEvents(events: LedgerEvent[]): Promise<void> {
    const audiences = events.map(audienceOf);
    await this.database.write(FAN_OUT, {
      ids: events.map(({ id }) => id),
      topics: events.map(({ topic }) => topic),
      bodies: events.map((event) => JSON.stringify(event)),
      areForAll: audiences.map(({ isForAll }) => isForAll),
      pools: audiences.map(({ pool }) => pool),
      accounts: audiences.map(({ account }) => account),
    });
    this.poller.hurry();
  }
}
