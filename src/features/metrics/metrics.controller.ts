import { Controller, Get, Header, Req } from '@nestjs/common';
import { ApiBearerAuth, ApiOperation, ApiResponse } from '@nestjs/swagger';
import { SkipThrottle } from '@nestjs/throttler';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { FastifyRequest } from 'fastify';
import { Gauge, register } from 'prom-client';
import { RawResponse } from '#platform/answers/raw-response';
import { showBuild } from '#platform/config/build-info';
import { Database } from '#platform/database/database';
import { invalidToken } from '#platform/errors/errors';
import { mayScrape } from '#platform/http/bearer';
import { HttpSettings } from '#platform/http/http.settings';
import { ApiFailure } from '#platform/openapi/api-docs';
import { atMostEvery } from '#platform/timing/at-most-every';
import { AnyQuery } from '#platform/validation/query-parameters.guard';
import { Public } from '#features/access/auth.guard';

/** Reads within this time get the same text: making it takes long, and blocks the event loop. */
const REUSE_MS = 1000;
const METRICS_EXAMPLE = `# HELP pools_created_total Pools created
# TYPE pools_created_total counter
pools_created_total{type="individual"} 3
`;

@Controller()
@Public()
@SkipThrottle()
@AnyQuery()
@RawResponse()
export class MetricsController {
  constructor(
    private readonly environment: HttpSettings,
    private readonly database: Database,
    @InjectMetric('database_connections') private readonly connections: Gauge<'state'>,
  ) {
    showBuild('savings_build_info');
  }

  private readonly text = atMostEvery(REUSE_MS, () => {
    for (const [state, count] of Object.entries(this.database.connections))
      this.connections.set({ state }, count);
    return register.metrics();
  });

  @Get()
  @Header('content-type', register.contentType)
  @ApiOperation({
    summary: 'Get metrics',
    description:
      'Returns metrics in the Prometheus text format, at most a second old. Needs the token `METRICS_TOKEN` if the operator has set one, as in production.',
  })
  @ApiResponse({
    status: 200,
    description: 'Prometheus text format',
    content: { 'text/plain': { schema: { type: 'string' }, example: METRICS_EXAMPLE } },
  })
  @ApiFailure(400)
  @ApiFailure(401)
  @ApiBearerAuth()
  scrape(@Req() request: FastifyRequest): Promise<string> {
    if (!mayScrape(request.headers.authorization, this.environment)) throw invalidToken();
    return this.text();
  }
}
