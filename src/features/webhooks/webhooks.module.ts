import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { Resolver } from 'node:dns/promises';
import { expiring } from '#platform/database/expired-rows';
import { OutboxModule } from '#ledger/outbox/outbox.module';
import { AccessModule } from '#features/access/access.module';
import { PoolsModule } from '#features/pools/pools.module';
import { REMOVE_OLD_DELIVERIES } from './deliveries.sql';
import { WebhookClient } from './webhook-client';
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
    WebhookFanOut,
    WebhookSender,
    WebhooksService,
    expiring('webhook_deliveries', REMOVE_OLD_DELIVERIES),
    { provide: Resolver, useFactory: () => new Resolver({ timeout: 2000, tries: 2 }) },
    makeCounterProvider({
      name: 'webhook_attempts_total',
      help: 'Attempts to send to webhooks, by outcome: delivered or failed',
      labelNames: ['outcome'],
    }),
  ],
  exports: [WebhooksService, TypeOrmModule],
})
export class WebhooksModule {}
