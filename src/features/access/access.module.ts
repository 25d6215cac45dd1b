import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { TypeOrmModule } from '@nestjs/typeorm';
import { createSecretKey } from 'node:crypto';
import { expiring } from '#platform/database/expired-rows';
import { AccessSettings } from './access.settings';
import { JwtAuthGuard, JwtStrategy } from './auth.guard';
import { TOKEN_LIFETIME_SECONDS } from './lifetimes';
import { SessionFeed } from './session-feed';
import { Sessions } from './sessions';
import { REMOVE_EXPIRED_ENDINGS } from './sessions.sql';
import { REMOVE_EXPIRED_NONCES } from './sign-in.sql';
import { User } from './user.entity';

/** Who calls: users and their nonces, tokens and sessions, and the guard of every endpoint. */
@Module({
  imports: [
    PassportModule,
    TypeOrmModule.forFeature([User]),
    JwtModule.registerAsync({
      inject: [AccessSettings],
      useFactory: ({ JWT_SECRET }: AccessSettings) => ({
        // Given a string, jsonwebtoken first tries to parse a private key each time, at 50 times the cost of signing.
        secret: createSecretKey(JWT_SECRET, 'utf8'),
        signOptions: { algorithm: 'HS256', expiresIn: TOKEN_LIFETIME_SECONDS },
      }),
    }),
  ],
  providers: [
    expiring('nonces', REMOVE_EXPIRED_NONCES),
    expiring('session_endings', REMOVE_EXPIRED_ENDINGS),
    SessionFeed,
    Sessions,
    JwtStrategy,
    // Registered under its own class too, so that tests can override it.
    JwtAuthGuard,
    { provide: APP_GUARD, useExisting: JwtAuthGuard },
  ],
  exports: [JwtAuthGuard, JwtModule, Sessions, TypeOrmModule],
})
export class AccessModule {}
