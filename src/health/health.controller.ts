import { Controller, Get, HttpException } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { SkipThrottle } from '@nestjs/throttler';
import { Public } from '../auth/auth.guard';
import { ApiFailure } from '../openapi/api-docs';
import { ApiError } from '../common/errors';
import { RawResponse } from '../common/raw-response';
import { DatabaseHealthIndicator } from './database.health';
import { HealthReport, Liveness } from './health.dto';
import { HealthService } from './health.service';
import { ProcessHealthIndicator } from './process.health';

/** Probes; reports stand without the envelope. */
@Controller('health')
@Public()
@SkipThrottle()
@RawResponse()
export class HealthController {
  constructor(
    private readonly health: HealthService,
    private readonly terminus: HealthCheckService,
    private readonly database: DatabaseHealthIndicator,
    private readonly process: ProcessHealthIndicator,
  ) {}

  /** 200 as long as the process serves; the body tells the truth about what it depends on. */
  @Get()
  @ApiResponse({ status: 200, description: 'Report, not enveloped', type: HealthReport })
  report(): Promise<HealthReport> {
    return this.health.report();
  }

  @Get('live')
  @ApiResponse({ status: 200, description: 'The process serves', type: Liveness })
  live(): Liveness {
    return { status: 'alive' };
  }

  /** Whether requests should be sent here: not without the database, and not while draining. */
  @Get('ready')
  @ApiFailure(503, 'Database out, or draining; `details` names which')
  @HealthCheck()
  async ready(): Promise<HealthCheckResult> {
    try {
      return await this.terminus.check([
        () => this.database.isHealthy('database'),
        () => this.process.isHealthy('process'),
      ]);
    } catch (error) {
      throw error instanceof HttpException ? notReady(error.getResponse() as HealthCheckResult) : error;
    }
  }
}

/** What Terminus found, in the form of the service's errors. */
const notReady = ({ error = {} }: HealthCheckResult): ApiError =>
  new ApiError(
    503,
    'Service unavailable',
    Object.entries(error).map(([field, indicator]) => ({ field, message: String(indicator?.message) })),
  );
