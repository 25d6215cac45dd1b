import type { DynamicModule, NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { LogController } from 'fastify';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { type OnError, reportTo } from '#platform/errors/failures';
import { createLogger } from '#platform/log/logger';
import { NestLogger } from '#platform/log/nest-logger';
import type { Environment } from '#settings/environment';
import { Indexer } from '#indexer/leading/indexer.service';
import { type IndexerImports, IndexerModule } from './indexer.module';

export interface IndexerOptions {
  /** Beside those of the service. */
  modules?: IndexerImports;
  /** What a main.ts would do with the application before it starts. */
  prepare?: (app: NestFastifyApplication) => unknown;
  /** Gets what becomes a 5xx of its port, with its request. What fails while it follows the chain is in its log. */
  onError?: OnError;
  /** Makes the application; tests override providers here. */
  create?: (
    module: DynamicModule,
    adapter: FastifyAdapter,
    options: NestApplicationOptions,
  ) => Promise<NestFastifyApplication>;
}

/**
 * Builds the indexer as production runs it; the tests use the same. It follows the chain from now on, until it is
 * closed. It does not listen yet.
 */
export async function createIndexer(
  environment: Environment,
  logger: Logger = createLogger(environment.LOG_LEVEL, environment.NODE_ENV === 'production'),
  {
    modules = [],
    prepare,
    onError,
    create = (module, adapter, options) => NestFactory.create(module, adapter, options),
  }: IndexerOptions = {},
): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // Probes are answered until the process ends, and connections that they keep open do not delay that.
    return503OnClosing: false,
    forceCloseConnections: true,
  });
  const app = await create(IndexerModule.register(environment, modules), adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  if (onError) adapter.getInstance().addHook('onRequest', reportTo(onError));
  await prepare?.(app);
  return app.init();
}

/**
 * Runs until a signal, or until its parent (`npm start`) is gone. The application is closed then, whatever the reason.
 * @throws WrongChain, and what listening throws
 */
export async function runIndexer(
  environment: Environment,
  logger: Logger,
  options?: IndexerOptions,
): Promise<void> {
  const app = await createIndexer(environment, logger, options);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= app.close());
  // The error is what the operator has to see, whatever else fails.
  const closeAfter = async (error: Error): Promise<never> => {
    await close().catch((another: Error) => logger.error({ err: another }, 'shutdown failed'));
    throw error;
  };
  const ended = new Promise<void>((resolve, reject) => {
    const stop = (signal = 'disconnect'): void => {
      if (!closing) logger.info({ signal }, 'stopping');
      close().then(resolve, reject);
    };
    process
      .on('SIGTERM', stop)
      .on('SIGINT', stop)
      .on('disconnect', () => stop());
    app.get(Indexer).ended.catch(closeAfter).catch(reject);
  });
  const listening = app.listen(environment.INDEXER_PORT, environment.HOST).catch(closeAfter);
  await Promise.race([ended, listening]);
  process.send?.({ port: (app.getHttpServer().address() as AddressInfo).port });
  await ended;
}
