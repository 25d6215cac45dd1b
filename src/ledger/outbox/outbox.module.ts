import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import { expiring } from '#platform/database/expired-rows';
import { HandlerExplorer } from './handler-explorer';
import { OutboxConsumers } from './outbox-consumers';
import { OutboxPoller } from './outbox-poller';
import { REMOVE_OLD_EVENTS } from './outbox.sql';

/**
 * Calls methods marked with `@OnLedgerEvent` when something happens to pools, the ledger or draws. Needs the
 * DatabaseModule.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    // After seven days, whether or not they were read.
    expiring('outbox', REMOVE_OLD_EVENTS),
    HandlerExplorer,
    OutboxConsumers,
    OutboxPoller,
    makeGaugeProvider({
      name: 'outbox_lag_seconds',
      help: 'Age of the oldest event that a consumer has not handled, 0 if there is none',
      labelNames: ['consumer'],
    }),
    makeCounterProvider({
      name: 'outbox_failures_total',
      help: 'Events that a handler failed with, each attempt',
      labelNames: ['consumer'],
    }),
  ],
  exports: [OutboxPoller],
})
export class OutboxModule {}
