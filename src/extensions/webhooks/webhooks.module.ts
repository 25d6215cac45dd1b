import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { Resolver } from 'node:dns/promises';
import { expiring } from '#platform/database/expired-rows';
import { OutboxModule } from '#ledger/outbox/outbox.module';
import { AccessModule } from '#features/access/access.module';
import { PoolsModule } from '#features/pools/pools.module';
import { WebhookClient } from './webhook-client';
import { REMOVE_OLD_DELIVERIES, REMOVE_OLD_WEBHOOK_EVENTS } from './deliveries.sql';
import { REMOVE_OLD_CROWDS } from './fan-out.sql';
import { WebhookFanOut } from './webhook-fan-out';
import { WebhookSender } from './webhook-sender';
import { Webhook, WebhookDelivery } from './webhook.entity';
import { WebhooksController } from './webhooks.controller';
import { WebhooksService } from './webhooks.service';

@Module({
  imports: [AccessModule, OutboxModule, PoolsModule, TypeOrmModule.forFeature([Webhook, WebhookDelivery])],
  controllers: [WebhooksController],
  providers: [
    WebhookClient,
    { provide: Resolver, useFactory: () => new Resolver({ timeout: 2000, tries: 2 }) },
    WebhookFanOut,
    WebhookSender,
    WebhooksService,
    expiring('webhook_deliveries', REMOVE_OLD_DELIVERIES),
    expiring('webhook_crowds', REMOVE_OLD_CROWDS),
    expiring('webhook_events', REMOVE_OLD_WEBHOOK_EVENTS),
    makeCounterProvider({
      name: 'webhook_attempts_total',
      help: 'Attempts to send to webhooks, by outcome: delivered or failed, and of challenges verified or unverified',
      labelNames: ['outcome'],
    }),
  ],
  exports: [WebhooksService, TypeOrmModule],
})
export class WebhooksModule {}
