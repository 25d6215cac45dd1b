import { Module } from '@nestjs/common';
import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { AccessModule } from '#features/access/access.module';
import { UsersModule } from '#features/users/users.module';
import { AuthController } from './auth.controller';
import { AuthService } from './auth.service';
import { SignOut } from './sign-out';
import { UserSessionsController } from './user-sessions.controller';
import { ContractWallets } from './wallet-signature';

/** Signing in and out. */
@Module({
  imports: [AccessModule, UsersModule],
  controllers: [AuthController, UserSessionsController],
  providers: [
    AuthService,
    SignOut,
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
