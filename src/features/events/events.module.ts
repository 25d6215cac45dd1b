import { Module } from '@nestjs/common';
import { AuthModule } from '#features/auth/auth.module';
import { OutboxModule } from '#ledger/outbox/outbox.module';
import { PoolsModule } from '#features/pools/pools.module';
import { EventHub } from './event-hub';
import { EventsController } from './events.controller';
import { TicketGuard } from './ticket.guard';
import { Tickets } from './tickets';

@Module({
  imports: [AuthModule, OutboxModule, PoolsModule],
  controllers: [EventsController],
  providers: [EventHub, TicketGuard, Tickets],
})
export class EventsModule {}
