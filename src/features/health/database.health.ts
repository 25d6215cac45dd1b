import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { HealthService } from './health.service';

@Injectable()
export class DatabaseHealthIndicator {
  constructor(
    private readonly health: HealthService,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async isHealthy<Key extends string>(key: Key): Promise<HealthIndicatorResult<Key>> {
    const indicator = this.indicators.check(key);
    return (await this.health.databaseStatus()) === 'connected'
      ? indicator.up()
      : indicator.down('disconnected');
  }
}
