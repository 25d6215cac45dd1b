import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { LogController } from 'fastify';
import type { Logger } from 'pino';
import { SettingsModule } from '#platform/config/settings.module';
import { ErrorFilter } from '#platform/errors/error.filter';
import { NestLogger } from '#platform/log/nest-logger';
import { KEEPER_AREAS, type KeeperEnvironment } from '#settings/environment';
import { KeeperController } from './keeper.controller';
import { Keeper } from './keeper.service';
import { KeeperTelemetry } from './telemetry';

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

/** Builds the keeper as production runs it. It looks for work from now on, until it is closed. It does not listen yet. */
async function createKeeper(environment: KeeperEnvironment, logger: Logger): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    return503OnClosing: false,
    forceCloseConnections: true,
  });
  const app = await NestFactory.create<NestFastifyApplication>(KeeperModule.register(environment), adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  return app.init();
}

/** Runs until a signal. The application is closed then, whatever the reason. @throws WrongChain, and what listening throws */
export async function runKeeper(environment: KeeperEnvironment, logger: Logger): Promise<void> {
  const app = await createKeeper(environment, logger);
  const stopped = new Promise<string>((resolve) => {
    process.on('SIGTERM', resolve).on('SIGINT', resolve);
  });
  void stopped.then((signal) => logger.info({ signal }, 'stopping'));
  try {
    await app.listen(environment.KEEPER_PORT, environment.HOST);
    await Promise.race([stopped, app.get(Keeper).ended]);
  } finally {
    await app.close();
  }
}
