import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { HttpSettings } from '#platform/http/http.settings';
import { ProbesController } from '#platform/http/probes';
import { IndexerTelemetry } from './telemetry';

@Controller()
export class IndexerController extends ProbesController {
  constructor(
    private readonly telemetry: IndexerTelemetry,
    settings: HttpSettings,
  ) {
    super(telemetry, settings);
  }

  /** 200, or 503 while it is halted, or without node or database. One contract in quarantine leaves the others well. */
  @Get('health')
  health(@Res({ passthrough: true }) reply: FastifyReply): object {
    const { state, heights, progress, apart, cutOffBy: reason } = this.telemetry;
    const failing = state === 'halted' || state === 'disconnected';
    void reply.status(failing ? HttpStatus.SERVICE_UNAVAILABLE : HttpStatus.OK);
    const speed = state === 'syncing' ? progress.speed : undefined;
    const contracts = apart.length > 0 ? apart : undefined;
    // JSON leaves out undefined fields.
    return { status: state, ...heights, progress: speed, contracts, reason };
  }
}
