import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { SchemaWatch } from '#platform/migrating/schema-watch';

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
