import type { DynamicModule, NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { type OnError, reportTo } from '#platform/errors/failures';
import { probesAdapter, runUntilSignal } from '#platform/http/probes';
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
  const adapter = probesAdapter(logger);
  const app = await create(IndexerModule.register(environment, modules), adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  if (onError) adapter.getInstance().addHook('onRequest', reportTo(onError));
  await prepare?.(app);
  return app.init();
}

/** @throws WrongChain, and what listening throws */
export async function runIndexer(
  environment: Environment,
  logger: Logger,
  options?: IndexerOptions,
): Promise<void> {
  const app = await createIndexer(environment, logger, options);
  const { INDEXER_PORT, HOST } = environment;
  await runUntilSignal(app, [INDEXER_PORT, HOST], app.get(Indexer).ended, logger);
}
