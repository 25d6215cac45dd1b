import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '#features/auth/auth.module';
import { PoolsModule } from '#features/pools/pools.module';
import { AccountDay } from './account-day.entity';
import { AnalyticsController } from './analytics.controller';
import { AnalyticsService } from './analytics.service';
import { PoolTotal } from './pool-total.entity';

@Module({
  imports: [AuthModule, PoolsModule, TypeOrmModule.forFeature([AccountDay, PoolTotal])],
  controllers: [AnalyticsController],
  providers: [AnalyticsService],
  exports: [AnalyticsService, TypeOrmModule],
})
export class AnalyticsModule {}
