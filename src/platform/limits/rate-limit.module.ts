import { Global, Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import { RouteTargets } from '#platform/http/route-targets';
import { LimitsSettings } from './limits.settings';
import { RateLimitStorage } from './rate-limit.storage';
import { RateLimiter } from './rate-limiter';
import { RouteLimits } from './route-limits';
import { throttlerOptions } from './throttlers';

@Module({ providers: [RateLimitStorage], exports: [RateLimitStorage] })
class RateLimitStorageModule {}

@Global()
@Module({
  imports: [
    RateLimitStorageModule,
    ThrottlerModule.forRootAsync({
      imports: [RateLimitStorageModule],
      inject: [LimitsSettings, RateLimitStorage],
      useFactory: throttlerOptions,
    }),
  ],
  providers: [RouteTargets, RouteLimits, RateLimiter],
  exports: [RateLimitStorageModule, RouteTargets, RouteLimits, RateLimiter],
})
export class RateLimitModule {}
