import { Controller, Get, Headers, HttpStatus, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { invalidToken } from '#platform/errors/errors';
import { mayScrape } from '#platform/http/bearer';
import { HttpSettings } from '#platform/http/http.settings';
import { Keeper } from './keeper.service';
import { KeeperTelemetry } from './telemetry';

/** The keeper's own port: for probes and Prometheus, not for clients. */
@Controller()
export class KeeperController {
  constructor(
    private readonly keeper: Keeper,
    private readonly telemetry: KeeperTelemetry,
    private readonly settings: HttpSettings,
  ) {}

  /** 200, or 503 while something that is due cannot be done. */
  @Get('health')
  health(@Res({ passthrough: true }) reply: FastifyReply): object {
    const { state } = this.telemetry;
    const isWell = state === 'idle' || state === 'sending';
    void reply.status(isWell ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE);
    return { status: state, account: this.keeper.address };
  }

  /** Always 200: a restart brings neither a node nor money. */
  @Get('health/live')
  live(): object {
    return { status: 'alive' };
  }

  /** In the Prometheus text format; open unless METRICS_TOKEN is set. */
  @Get('metrics')
  metrics(
    @Headers('authorization') authorization: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    if (!mayScrape(authorization, this.settings)) throw invalidToken();
    void reply.header('content-type', this.telemetry.registry.contentType);
    return this.telemetry.registry.metrics();
  }
}
