import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { HealthService } from './health.service';

@Injectable()
export class ProcessHealthIndicator {
  constructor(
    private readonly health: HealthService,
    private readonly indicators: HealthIndicatorService,
  ) {}

  isHealthy<Key extends string>(key: Key): HealthIndicatorResult<Key> {
    const indicator = this.indicators.check(key);
    return this.health.isDraining ? indicator.down('draining') : indicator.up();
  }
}
