import { Injectable } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { type LedgerEvent, TOPICS } from '#ledger/outbox/ledger-event';
import { OnLedgerEvents } from '#ledger/outbox/on-ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { FAN_OUT, REMOVE_OLD_DELIVERIES } from './deliveries.sql';

/** Turns events into deliveries, which are kept for seven days. */
@Injectable()
export class WebhookFanOut {
  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    expired: ExpiredRows,
  ) {
    expired.register('webhook_deliveries', REMOVE_OLD_DELIVERIES);
  }

  @OnLedgerEvents(TOPICS, { consumer: 'webhooks' })
  async onEvents(events: LedgerEvent[]): Promise<void> {
    await this.database.write(FAN_OUT, { events: JSON.stringify(events) });
    this.poller.hurry();
  }
}
