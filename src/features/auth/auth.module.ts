import { Module } from '@nestjs/common';
import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { AccessModule } from '#features/access/access.module';
import { AnalyticsModule } from '#features/analytics/analytics.module';
import { PoolsModule } from '#features/pools/pools.module';
import { AuthController, UserSessionsController, UsersController } from './auth.controller';
import { AuthService } from './auth.service';
import { ContractWallets } from './wallet-signature';

@Module({
  imports: [AccessModule, AnalyticsModule, PoolsModule],
  controllers: [AuthController, UserSessionsController, UsersController],
  providers: [
    AuthService,
    ContractWallets,
    makeCounterProvider({
      name: 'sign_ins_total',
      help: 'Sign-in attempts by result: success, or the reason of the refusal',
      labelNames: ['result'],
    }),
  ],
  exports: [AuthService],
})
export class AuthModule {}
