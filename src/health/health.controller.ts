import { Controller, Get, Res } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { HealthCheckService } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/auth.guard';
import { serviceUnavailable } from '../common/errors';
import { ErrorResponse } from '../common/api-docs';
import { HealthReport, Liveness } from './health.dto';
import { HealthService } from './health.service';

/** Probes; the report stands without the envelope, so the answers are sent past the interceptor. */
@Controller('health')
@Public()
export class HealthController {
  constructor(
    private readonly health: HealthService,
    private readonly terminus: HealthCheckService,
  ) {}

  /** 200 as long as the process serves; the body tells the truth about what it depends on. */
  @Get()
  @ApiResponse({ status: 200, description: 'Report, not enveloped', type: HealthReport })
  async report(@Res() reply: FastifyReply): Promise<void> {
    await reply.send(await this.health.report());
  }

  @Get('live')
  @ApiResponse({ status: 200, description: 'The process serves', type: Liveness })
  async live(@Res() reply: FastifyReply): Promise<void> {
    await reply.send({ status: 'alive' });
  }

  /** Whether requests should be sent here: not without the database, and not while draining. */
  @Get('ready')
  @ApiResponse({ status: 200, description: 'Ready', type: Liveness })
  @ApiResponse({ status: 503, description: 'Database out, or draining', type: ErrorResponse })
  async ready(@Res() reply: FastifyReply): Promise<void> {
    try {
      await this.terminus.check(this.health.readiness);
    } catch {
      throw serviceUnavailable();
    }
    await reply.send({ status: 'ready' });
  }
}
