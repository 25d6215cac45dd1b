import { Global, Module } from '@nestjs/common';
import { ThrottlerModule, type ThrottlerModuleOptions } from '@nestjs/throttler';
import { LimitsSettings } from './limits.settings';
import { RateLimitStorage } from './rate-limit.storage';
import { RateLimiter, isNamed } from './rate-limiter';

@Module({ providers: [RateLimitStorage], exports: [RateLimitStorage] })
class RateLimitStorageModule {}

/** Options of a ThrottlerGuard in a module. The limits of the routes need no guard. */
const forGuards = (
  { RATE_LIMIT_WINDOW, RATE_LIMIT_GENERAL, RATE_LIMIT_AUTH }: LimitsSettings,
  storage: RateLimitStorage,
): ThrottlerModuleOptions => {
  const ttl = RATE_LIMIT_WINDOW * 1000;
  return {
    storage,
    throttlers: [
      { name: 'general', limit: RATE_LIMIT_GENERAL, ttl },
      {
        name: 'auth',
        limit: RATE_LIMIT_AUTH,
        ttl,
        skipIf: (context) => !isNamed('auth', [context.getHandler(), context.getClass()]),
      },
    ],
  };
};

@Global()
@Module({
  imports: [
    RateLimitStorageModule,
    ThrottlerModule.forRootAsync({
      imports: [RateLimitStorageModule],
      inject: [LimitsSettings, RateLimitStorage],
      useFactory: forGuards,
    }),
  ],
  providers: [RateLimiter],
  exports: [RateLimitStorageModule, RateLimiter],
})
export class RateLimitModule {}
