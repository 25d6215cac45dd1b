import type { DynamicModule, NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { EnvelopeAdapter, givePlainData } from '#platform/answers/envelope.adapter';
import { hideText, refuseConnection, sendError } from '#platform/errors/error.filter';
import { type OnError, includeReasons, reportTo } from '#platform/errors/failures';
import { plainClientAddress } from '#platform/http/client-address';
import { BODY_LIMIT_BYTES, checkTarget, isDecodable, prepareBody } from '#platform/http/request-form';
import { nameTargets } from '#platform/http/route-targets';
import { RateLimiter } from '#platform/limits/rate-limiter';
import { createLogger } from '#platform/log/logger';
import { NestLogger } from '#platform/log/nest-logger';
import { trackRequests } from '#platform/log/request-line';
import { SchemaWatch } from '#platform/migrating/schema-watch';
import { provideConstraints } from '#platform/validation/validation.pipe';
import { HttpMetrics } from '#features/metrics/http-metrics';
import type { Environment } from '#settings/environment';
import { serveDocs } from '#api/documents/docs';
import { type AppImports, AppModule } from './app.module';
import { allowOrigins, refuseForeignPages } from './cross-origin';
import { watchConnections } from './shutdown';

export interface AppOptions {
  /** Modules to add to those of the service. */
  modules?: AppImports;
  /** Runs before the application starts. Register plugins, WebSocket adapters and global interceptors here. */
  prepare?: (app: NestFastifyApplication) => unknown;
  /** Gets what becomes a 5xx, with its request: for Sentry and the like. It cannot change the answer. */
  onError?: OnError;
  /** Creates the application. Tests override providers here. */
  create?: (
    module: DynamicModule,
    adapter: EnvelopeAdapter,
    options: NestApplicationOptions,
  ) => Promise<NestFastifyApplication>;
}

/** Builds the API as production serves it. Tests use the same function. The application does not listen yet. */
export async function createApp(
  environment: Environment,
  logger: Logger = createLogger(environment.LOG_LEVEL, environment.NODE_ENV === 'production'),
  {
    modules = [],
    prepare,
    onError,
    create = (module, adapter, options) => NestFactory.create(module, adapter, options),
  }: AppOptions = {},
): Promise<NestFastifyApplication> {
  const adapter = createAdapter(environment, logger);
  const app = await create(AppModule.register(environment, modules), adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
    // Only Fastify's own JSON parser. Other content types are 415.
    bodyParser: false,
  });
  const fastify = adapter.getInstance();
  fastify.removeContentTypeParser('text/plain');
  await addHooks(app, environment, logger, onError);
  if (environment.DOCS) serveDocs(app, environment);
  watchConnections(fastify.server, environment.TRUST_PROXY);
  // Node would answer them itself, past limits, log and envelope.
  fastify.server.on('checkExpectation', (...of) => fastify.server.emit('request', ...of));
  if (environment.NODE_ENV === 'development') includeReasons(fastify.server);
  provideConstraints(app);
  await prepare?.(app);
  nameTargets(app);
  givePlainData(app);
  await app.init();
  await fastify.ready();
  return app;
}

/** Adds the hooks that each request passes before NestJS, in this order, and the one that measures its answer. */
async function addHooks(
  app: NestFastifyApplication,
  environment: Environment,
  logger: Logger,
  onError: OnError | undefined,
): Promise<void> {
  const fastify = app.getHttpAdapter().getInstance();
  const limits = app.get(RateLimiter);
  // Reads the limits of each route once.
  fastify.addHook('onRoute', limits.onRoute);
  // First, so that errors and log lines of all later hooks are reported with their request.
  if (onError) fastify.addHook('onRequest', reportTo(onError));
  // Since Node 24 contexts follow promises natively. Before, hooks on every promise cost a tenth of a request.
  trackRequests(fastify);
  // Rate limits and log lines use this address.
  fastify.addHook('onRequest', plainClientAddress(environment.TRUST_PROXY, logger));
  // Before any hook that refuses a request, so that every answer has these headers.
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.headers(HEADERS).header('x-request-id', request.id);
    done();
  });
  // Before the rate limits, so that browsers can read a 429, and preflights do not use up half of their quota.
  // Preflights are cheap: they need no handler, and no body is read.
  await allowOrigins(app, environment);
  // Before the rate limits, because these requests should not count.
  fastify.addHook('onRequest', refuseForeignPages(environment, limits));
  // Before anything expensive.
  fastify.addHook('onRequest', limits.onRequest);
  // After the rate limits, because malformed requests count too.
  fastify.addHook('onRequest', checkTarget);
  // Handlers need the tables of this version.
  fastify.addHook('onRequest', app.get(SchemaWatch).onRequest);
  // After all hooks that can refuse a request without its body.
  fastify.addHook('preParsing', prepareBody);
  fastify.addHook('onResponse', app.get(HttpMetrics).onResponse);
}

const HEADERS = {
  // Those of helmet, except for headers that protect pages: the API serves data.
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  // Most answers are private, or true only at this moment. Handlers can override it.
  'cache-control': 'no-store',
};

function createAdapter(environment: Environment, logger: Logger): EnvelopeAdapter {
  return new EnvelopeAdapter({
    // A child logger per request costs more than the log line. The log line carries the request id instead.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: (request: IncomingMessage) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    },
    bodyLimit: BODY_LIMIT_BYTES,
    // While the server drains, answer requests on open connections; Fastify would refuse them with a body of its own.
    return503OnClosing: false,
    trustProxy: environment.TRUST_PROXY.length > 0 ? environment.TRUST_PROXY : false,
    rewriteUrl: ({ url = '/' }: IncomingMessage) => {
      // Of the absolute form only the path counts (RFC 9112, 3.2.2). Every path works with and without a leading /api.
      const path = url
        .replace(/^https?:\/\/[^/?#]*/i, '')
        .replace(/^\/api(?=[/?]|$)/, '')
        .replace(/^(?!\/)/, '/');
      // The router rejects malformed URLs before hooks run. Escape them so that a hook can count, log and reject
      // them.
      return isDecodable(url) ? path : path.replaceAll('%', '%25');
    },
    // Other errors of the router reach neither Nest nor the error handler.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
      sendError(hideText(error), request, reply),
    // Limits in ms for clients that send nothing, send byte by byte, or do not read their answers.
    // Node would refuse requests without a Host with an answer of its own; see `hostProblem`.
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 1000, requireHostHeader: false },
    requestTimeout: 15_000,
    connectionTimeout: 15_000,
    keepAliveTimeout: environment.KEEP_ALIVE_TIMEOUT * 1000,
    clientErrorHandler: refuseConnection,
    // Accept ids as long as all headers may be, so that over-long ids return 404.
    routerOptions: { maxParamLength: 16 * 1024, ignoreTrailingSlash: true },
  });
}
