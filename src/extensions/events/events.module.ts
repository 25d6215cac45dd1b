import { Module } from '@nestjs/common';
import { makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import { expiring } from '#platform/database/expired-rows';
import { OutboxModule } from '#ledger/outbox/outbox.module';
import { AccessModule } from '#features/access/access.module';
import { PoolsModule } from '#features/pools/pools.module';
import { EventHub } from './event-hub';
import { EventsController } from './events.controller';
import { REMOVE_EXPIRED_TICKETS } from './events.sql';
import { StreamPlaces } from './stream-places';
import { Tickets } from './tickets';

@Module({
  imports: [AccessModule, OutboxModule, PoolsModule],
  controllers: [EventsController],
  providers: [
    EventHub,
    StreamPlaces,
    Tickets,
    expiring('event_tickets', REMOVE_EXPIRED_TICKETS),
    makeGaugeProvider({ name: 'event_streams_open', help: 'Streams of events that are open' }),
    makeCounterProvider({
      name: 'event_streams_ended_total',
      help: 'Streams of events that have ended, by reason',
      labelNames: ['reason'],
    }),
  ],
})
export class EventsModule {}
