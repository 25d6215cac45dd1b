import { Controller, Get, Headers, HttpStatus, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { invalidToken } from '#platform/errors/errors';
import { mayScrape } from '#platform/http/bearer';
import { HttpSettings } from '#platform/http/http.settings';
import { atMostEvery } from '#platform/timing/at-most-every';
import { IndexerTelemetry } from './telemetry';

/** Reads within this time get the same text. */
const REUSE_MS = 1000;

/** The indexer's own port: for probes and Prometheus, not for clients. */
@Controller()
export class IndexerController {
  constructor(
    private readonly telemetry: IndexerTelemetry,
    private readonly environment: HttpSettings,
  ) {}

  /** 200, or 503 while it is halted, or without node or database. One contract in quarantine leaves the others well. */
  @Get('health')
  health(@Res({ passthrough: true }) reply: FastifyReply): object {
    const { state, heights, speed, apart, cutOffBy: reason } = this.telemetry;
    const failing = state === 'halted' || state === 'disconnected';
    void reply.status(failing ? HttpStatus.SERVICE_UNAVAILABLE : HttpStatus.OK);
    return { status: state, ...heights, ...speed, ...apart, reason };
  }

  /** Always 200: a restart repairs nothing that the indexer could find wrong. */
  @Get('health/live')
  live(): object {
    return { status: 'alive' };
  }

  private readonly text = atMostEvery(REUSE_MS, () => this.telemetry.metrics());

  /** In the Prometheus text format; open unless METRICS_TOKEN is set. */
  @Get('metrics')
  metrics(
    @Headers('authorization') authorization: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    if (!mayScrape(authorization, this.environment)) throw invalidToken();
    void reply.header('content-type', this.telemetry.registry.contentType);
    return this.text();
  }
}
