import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { HttpSettings } from '#platform/http/http.settings';
import { ProbesController } from '#platform/http/probes';
import { Keeper } from './keeper.service';
import { KeeperTelemetry } from './telemetry';

@Controller()
export class KeeperController extends ProbesController {
  constructor(
    private readonly keeper: Keeper,
    private readonly telemetry: KeeperTelemetry,
    settings: HttpSettings,
  ) {
    super(telemetry, settings);
  }

  /** 200, or 503 while something that is due cannot be done. */
  @Get('health')
  health(@Res({ passthrough: true }) reply: FastifyReply): object {
    const { state } = this.telemetry;
    const isWell = state === 'idle' || state === 'sending';
    void reply.status(isWell ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE);
    return { status: state, account: this.keeper.address };
  }
}
