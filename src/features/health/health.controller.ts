import { Controller, Get, HttpException } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
} from '@nestjs/terminus';
import { SkipThrottle } from '@nestjs/throttler';
import { RawResponse } from '#platform/answers/raw-response';
import { ApiError } from '#platform/errors/errors';
import { SchemaWatch } from '#platform/migrating/schema-watch';
import { ApiFailure } from '#platform/openapi/api-docs';
import { AnyQuery } from '#platform/validation/query-parameters.guard';
import { Public } from '#features/access/auth.guard';
import { HealthReport, Liveness, ReadinessReport } from './health.dto';
import { HealthService } from './health.service';

/** Probes. Their reports have no envelope. */
@Controller('health')
@Public()
@SkipThrottle()
@AnyQuery()
@RawResponse()
export class HealthController {
  constructor(
    private readonly health: HealthService,
    private readonly terminus: HealthCheckService,
    private readonly schema: SchemaWatch,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'Get service health',
    description: 'Returns 200 while the process serves; the body reports the status of its dependencies.',
  })
  @ApiResponse({ status: 200, description: 'Report, not enveloped', type: HealthReport })
  @ApiFailure(400)
  report(): Promise<HealthReport> {
    return this.health.report();
  }

  @Get('live')
  @ApiOperation({
    summary: 'Check liveness',
    description: 'Returns 200 while the process serves, without checking dependencies.',
  })
  @ApiResponse({ status: 200, description: 'The process serves', type: Liveness })
  @ApiFailure(400)
  live(): Liveness {
    return { status: 'alive' };
  }

  @Get('ready')
  @ApiOperation({
    summary: 'Check readiness',
    description: 'Returns 503 without the database, before its migrations have run, and while draining.',
  })
  @ApiResponse({ status: 200, description: 'Ready', type: ReadinessReport })
  @ApiFailure(400)
  @ApiFailure(503, 'Database out, migrations not run, or draining; `details` names which')
  @HealthCheck({ noCache: true, swaggerDocumentation: false })
  async ready(): Promise<HealthCheckResult> {
    const isConnected = (await this.health.databaseStatus()) === 'connected';
    const is = (key: string, message: string | false | undefined) => (): HealthIndicatorResult => ({
      [key]: message ? { status: 'down', message } : { status: 'up' },
    });
    try {
      return await this.terminus.check([
        is('database', !isConnected && 'disconnected'),
        is('process', this.health.isDraining && 'draining'),
        is('schema', this.schema.problem),
      ]);
    } catch (error) {
      throw error instanceof HttpException ? notReady(error.getResponse() as HealthCheckResult) : error;
    }
  }
}

const notReady = ({ error = {} }: HealthCheckResult): ApiError =>
  new ApiError(503, 'Service unavailable', {
    details: Object.entries(error).map(([field, indicator]) => ({
      field,
      message: String(indicator?.message),
    })),
  });
