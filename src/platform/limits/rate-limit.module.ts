import { Global, Module } from '@nestjs/common';
import { RateLimitStorage } from './rate-limit.storage';
import { RateLimiter } from './rate-limiter';

@Global()
@Module({ providers: [RateLimitStorage, RateLimiter], exports: [RateLimitStorage, RateLimiter] })
export class RateLimitModule {}
