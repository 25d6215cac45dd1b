import { Module } from '@nestjs/common';
import { AccessModule } from '#features/access/access.module';
import { PoolsModule } from '#features/pools/pools.module';
import { AnalyticsController } from './analytics.controller';

@Module({ imports: [AccessModule, PoolsModule], controllers: [AnalyticsController] })
export class AnalyticsModule {}
