import { Module } from '@nestjs/common';
import { AccessModule } from '#features/access/access.module';
import { AuthModule } from '#features/auth/auth.module';
import { AnalyticsModule } from '#features/analytics/analytics.module';
import { LotteryModule } from '#features/lottery/lottery.module';
import { PoolsModule } from '#features/pools/pools.module';
import { PositionsModule } from '#extensions/positions/positions.module';
import { TransactionsModule } from '#features/transactions/transactions.module';
import { StartController } from './start.controller';

/** Joins what other features answer a caller. None of them depends on it. */
@Module({
  imports: [
    AccessModule,
    AnalyticsModule,
    LotteryModule,
    PoolsModule,
    PositionsModule,
    TransactionsModule,
    AuthModule,
  ],
  controllers: [StartController],
})
export class StartModule {}
