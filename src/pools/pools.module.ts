import { Module } from '@nestjs/common';
import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { ExpiredAnswers } from './expired-answers';
import { PoolsController } from './pools.controller';
import { PoolsService } from './pools.service';

@Module({
  controllers: [PoolsController],
  providers: [
    PoolsService,
    ExpiredAnswers,
    makeCounterProvider({
      name: 'pools_created_total',
      help: 'Pools created through the API, by type',
      labelNames: ['type'],
    }),
  ],
})
export class PoolsModule {}
