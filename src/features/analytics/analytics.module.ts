import { Module } from '@nestjs/common';
import { AccessModule } from '#features/access/access.module';
import { PoolsModule } from '#features/pools/pools.module';
import { AnalyticsController } from './analytics.controller';
import { AnalyticsService } from './analytics.service';

@Module({
  imports: [AccessModule, PoolsModule],
  controllers: [AnalyticsController],
  providers: [AnalyticsService],
  exports: [AnalyticsService],
})
export class AnalyticsModule {}
