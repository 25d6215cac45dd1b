import { Module } from '@nestjs/common';
import { Resolver } from 'node:dns/promises';
import { WebhookClient } from './webhook-client';

/** Sends to servers that users have named, which nobody trusts. */
@Module({
  providers: [
    WebhookClient,
    { provide: Resolver, useFactory: () => new Resolver({ timeout: 2000, tries: 2 }) },
  ],
  exports: [WebhookClient],
})
export class ReceiversModule {}
