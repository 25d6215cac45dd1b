import { Controller, type DynamicModule, Get, HttpStatus, Module, Res } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { SettingsModule } from '#platform/config/settings.module';
import { ErrorFilter } from '#platform/errors/error.filter';
import { HttpSettings } from '#platform/http/http.settings';
import { ProbesController, probesAdapter, runUntilSignal } from '#platform/http/probes';
import { NestLogger } from '#platform/log/nest-logger';
import { KEEPER_AREAS, type KeeperEnvironment } from '#settings/environment';
import { Keeper } from './keeper.service';
import { KeeperTelemetry } from './telemetry';

@Controller()
class KeeperController extends ProbesController {
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

@Module({})
class KeeperModule {
  static register(environment: KeeperEnvironment): DynamicModule {
    return {
      module: KeeperModule,
      imports: [SettingsModule.register(KEEPER_AREAS, environment)],
      controllers: [KeeperController],
      providers: [KeeperTelemetry, Keeper, { provide: APP_FILTER, useClass: ErrorFilter }],
    };
  }
}

/** Looks for work until a signal. @throws WrongChain, and what listening throws */
export async function runKeeper(environment: KeeperEnvironment, logger: Logger): Promise<void> {
  const app = await NestFactory.create<NestFastifyApplication>(
    KeeperModule.register(environment),
    probesAdapter(logger),
    { logger: new NestLogger(logger), abortOnError: false },
  );
  await app.init();
  const { KEEPER_PORT, HOST } = environment;
  await runUntilSignal(app, [KEEPER_PORT, HOST], app.get(Keeper).ended, logger);
}
