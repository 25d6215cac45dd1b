import { Module } from '@nestjs/common';
import { AccessModule } from '#features/access/access.module';
import { AnalyticsModule } from '#features/analytics/analytics.module';
import { PoolsModule } from '#features/pools/pools.module';
import { UsersController } from './users.controller';
import { UsersService } from './users.service';

@Module({
  imports: [AccessModule, PoolsModule, AnalyticsModule],
  controllers: [UsersController],
  providers: [UsersService],
  exports: [UsersService],
})
export class UsersModule {}
