import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessModule } from '#features/access/access.module';
import { PoolsModule } from '#features/pools/pools.module';
import { AccountDay } from './account-day.entity';
import { AnalyticsController } from './analytics.controller';
import { AnalyticsService } from './analytics.service';
import { PoolTotal } from './pool-total.entity';

@Module({
  imports: [AccessModule, PoolsModule, TypeOrmModule.forFeature([AccountDay, PoolTotal])],
  controllers: [AnalyticsController],
  providers: [AnalyticsService],
  exports: [AnalyticsService, TypeOrmModule],
})
export class AnalyticsModule {}
