import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { AccessModule } from '#features/access/access.module';
import { UsersModule } from '#features/users/users.module';
import { AuthController } from './auth.controller';
import { AuthService } from './auth.service';
import { ExpiredNonces } from './expired-nonces';
import { Nonce } from './nonce.entity';
import { ContractWallets } from './wallet-signature';

/** Signing in and out. */
@Module({
  imports: [AccessModule, UsersModule, TypeOrmModule.forFeature([Nonce])],
  controllers: [AuthController],
  providers: [
    AuthService,
    ContractWallets,
    ExpiredNonces,
    makeCounterProvider({
      name: 'sign_ins_total',
      help: 'Sign-in attempts by result: success, or the reason of the refusal',
      labelNames: ['result'],
    }),
  ],
  exports: [AuthService, TypeOrmModule],
})
export class AuthModule {}
