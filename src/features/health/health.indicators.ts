import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { SchemaWatch } from '#platform/migrating/schema-watch';
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

@Injectable()
export class SchemaHealthIndicator {
  constructor(
    private readonly schema: SchemaWatch,
    private readonly indicators: HealthIndicatorService,
  ) {}

  isHealthy<Key extends string>(key: Key): HealthIndicatorResult<Key> {
    const indicator = this.indicators.check(key);
    const { problem } = this.schema;
    return problem ? indicator.down(problem) : indicator.up();
  }
}
