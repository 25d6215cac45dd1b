import { Module } from '@nestjs/common';
import { AnalyticsModule } from '#features/analytics/analytics.module';
import { AuthModule } from '#features/auth/auth.module';
import { PoolsModule } from '#features/pools/pools.module';
import { UsersController } from './users.controller';
import { UsersService } from './users.service';

@Module({
  imports: [AuthModule, PoolsModule, AnalyticsModule],
  controllers: [UsersController],
  providers: [UsersService],
  exports: [UsersService],
})
export class UsersModule {}
