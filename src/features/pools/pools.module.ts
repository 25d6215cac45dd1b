import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { expiring } from '#platform/database/expired-rows';
import { AccessModule } from '#features/access/access.module';
import { PoolMember } from './pool-member.entity';
import { Pool } from './pool.entity';
import { PoolsController } from './pools.controller';
import { PoolsService } from './pools.service';
import { REMOVE_EXPIRED_ANSWERS } from './pools.sql';
import { Transaction } from './transaction.entity';
import { CANCEL_UNPAID, FORGET_CANCELLED, UNPAID } from './unpaid.sql';

@Module({
  imports: [AccessModule, TypeOrmModule.forFeature([Pool, PoolMember, Transaction])],
  controllers: [PoolsController],
  providers: [
    PoolsService,
    expiring('idempotency_keys', REMOVE_EXPIRED_ANSWERS),
    expiring('pools', CANCEL_UNPAID, UNPAID),
    expiring('cancelled_pools', FORGET_CANCELLED),
    makeCounterProvider({
      name: 'pools_created_total',
      help: 'Pools created through the API, by type',
      labelNames: ['type'],
    }),
  ],
  exports: [PoolsService, TypeOrmModule],
})
export class PoolsModule {}
