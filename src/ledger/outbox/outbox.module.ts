import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import { expiring } from '#platform/database/expired-rows';
import { ConsumerMetrics } from './delivery';
import { OutboxConsumers } from './outbox-consumers';
import { OutboxPoller } from './outbox-poller';
import { END_HOLDING_READERS, REMOVE_OLD_EVENTS, REMOVE_OLD_SET_ASIDE } from './outbox.sql';

/**
 * Calls methods marked with `@OnLedgerEvent` when something happens to pools, the ledger or draws. Needs the
 * DatabaseModule.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    // After seven days, whether or not they were read.
    expiring('outbox', REMOVE_OLD_EVENTS),
    expiring('outbox_set_aside', REMOVE_OLD_SET_ASIDE),
    expiring('holding_readers', END_HOLDING_READERS),
    ConsumerMetrics,
    OutboxConsumers,
    OutboxPoller,
    makeGaugeProvider({
      name: 'outbox_lag_seconds',
      help: 'Age of the oldest event that a consumer has not handled, 0 if there is none',
      labelNames: ['consumer'],
    }),
    makeCounterProvider({
      name: 'outbox_failures_total',
      help: 'Attempts of a handler that failed, with one event or several',
      labelNames: ['consumer'],
    }),
    makeCounterProvider({
      name: 'outbox_set_aside_total',
      help: 'Events that a consumer has set aside, as it could not handle them',
      labelNames: ['consumer'],
    }),
  ],
  exports: [OutboxPoller],
})
export class OutboxModule {}
