import { Global, Module } from '@nestjs/common';
import { CrossSiteGuard } from './cross-site';
import { RateLimitStorage } from './rate-limit.storage';
import { RateLimiter } from './rate-limiter';

@Global()
@Module({
  providers: [RateLimitStorage, RateLimiter, CrossSiteGuard],
  exports: [RateLimitStorage, RateLimiter, CrossSiteGuard],
})
export class RateLimitModule {}
