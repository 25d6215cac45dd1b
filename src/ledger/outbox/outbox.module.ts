import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import { ExpiredEvents } from './expired-events';
import { HandlerExplorer } from './handler-explorer';
import { OutboxConsumers } from './outbox-consumers';
import { OutboxPoller } from './outbox-poller';

/**
 * Calls methods marked with `@OnLedgerEvent` when something happens to pools, the ledger or draws. Needs the
 * DatabaseModule.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    ExpiredEvents,
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
