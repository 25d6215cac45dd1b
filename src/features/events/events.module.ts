import { Module } from '@nestjs/common';
import { expiring } from '#platform/database/expired-rows';
import { OutboxModule } from '#ledger/outbox/outbox.module';
import { AccessModule } from '#features/access/access.module';
import { PoolsModule } from '#features/pools/pools.module';
import { EventHub } from './event-hub';
import { EventsController } from './events.controller';
import { REMOVE_EXPIRED_TICKETS } from './events.sql';
import { TicketGuard } from './ticket.guard';
import { Tickets } from './tickets';

@Module({
  imports: [AccessModule, OutboxModule, PoolsModule],
  controllers: [EventsController],
  providers: [EventHub, TicketGuard, Tickets, expiring('event_tickets', REMOVE_EXPIRED_TICKETS)],
})
export class EventsModule {}
