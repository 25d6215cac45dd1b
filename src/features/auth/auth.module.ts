import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { TypeOrmModule } from '@nestjs/typeorm';
import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { createSecretKey } from 'node:crypto';
import { TOKEN_LIFETIME_SECONDS } from './lifetimes';
import { Environment } from '#platform/config/environment';
import { AuthController } from './auth.controller';
import { JwtAuthGuard } from './auth.guard';
import { AuthService } from './auth.service';
import { ExpiredNonces } from './expired-nonces';
import { JwtStrategy } from './jwt.strategy';
import { Nonce } from './nonce.entity';
import { SessionFeed } from '#features/sessions/session-feed';
import { SessionWatch } from '#features/sessions/session-watch';
import { Sessions } from '#features/sessions/sessions';
import { User } from './user.entity';
import { ContractWallets } from './wallet-signature';

@Module({
  imports: [
    PassportModule,
    TypeOrmModule.forFeature([User, Nonce]),
    JwtModule.registerAsync({
      inject: [Environment],
      useFactory: ({ JWT_SECRET }: Environment) => ({
        // Given a string, jsonwebtoken first tries to parse a private key each time, at 50 times the cost of signing.
        secret: createSecretKey(JWT_SECRET, 'utf8'),
        signOptions: { algorithm: 'HS256', expiresIn: TOKEN_LIFETIME_SECONDS },
      }),
    }),
  ],
  controllers: [AuthController],
  providers: [
    AuthService,
    ContractWallets,
    ExpiredNonces,
    SessionFeed,
    Sessions,
    SessionWatch,
    JwtStrategy,
    // Registered under its own class too, so that tests can override it.
    JwtAuthGuard,
    { provide: APP_GUARD, useExisting: JwtAuthGuard },
    makeCounterProvider({
      name: 'sign_ins_total',
      help: 'Sign-in attempts by result: success, or the reason of the refusal',
      labelNames: ['result'],
    }),
  ],
  exports: [AuthService, JwtAuthGuard, Sessions, SessionWatch, TypeOrmModule],
})
export class AuthModule {}
