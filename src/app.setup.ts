import cors from '@fastify/cors';
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
import helmet from 'helmet';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { type AppImports, AppModule } from './app.module';
import { provideConstraints } from './common/constraint-container';
import { CrossSiteGuard } from './rate-limit/cross-site';
import { EnvelopeAdapter } from './common/envelope.adapter';
import { hideText, refuseConnection, sendError } from './common/error.filter';
import { validationFailed } from './common/errors';
import { createLogger } from './common/logger';
import { NestLogger } from './common/nest-logger';
import { givePlainData } from './common/plain-data.interceptor';
import { plainClientAddress } from './common/proxies';
import { canTrackCheaply, trackRequests } from './common/request-context';
import { RouteTargets } from './common/route-targets';
import type { Environment } from './config/environment';
import { serveDocs } from './openapi/docs';
import { HttpMetrics } from './metrics/http-metrics';
import { RateLimiter } from './rate-limit/rate-limiter';
import { RouteLimits } from './rate-limit/route-limits';
import { watchConnections } from './shutdown';

/** Bytes. */
const BODY_LIMIT = 64 * 1024;
const EXPOSED_HEADERS = [
  'X-Request-Id',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

export interface AppOptions {
  /** Beside those of the service. */
  modules?: AppImports;
  /** What a main.ts would do with the application before it starts: plugins, WebSocket adapters, global interceptors. */
  prepare?: (app: NestFastifyApplication) => unknown;
  /** Whether lines of the Logger of NestJS name the request; see `canTrackCheaply` for when they do by default. */
  requestIds?: boolean;
  /** Makes the application; tests override providers here. */
  create?: (
    module: DynamicModule,
    adapter: EnvelopeAdapter,
    options: NestApplicationOptions,
  ) => Promise<NestFastifyApplication>;
}

/** Builds the API as production serves it; the tests use the same. It does not listen yet. */
export async function createApp(
  environment: Environment,
  logger: Logger = createLogger(environment),
  {
    modules = [],
    prepare,
    requestIds = canTrackCheaply,
    create = (module, adapter, options) => NestFactory.create(module, adapter, options),
  }: AppOptions = {},
): Promise<NestFastifyApplication> {
  const adapter = createAdapter(environment, logger);
  const app = await create(AppModule.register(environment, modules), adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
    // Fastify's own parser for JSON, and none for anything else: other content types are 415.
    bodyParser: false,
  });
  const fastify = adapter.getInstance();
  fastify.removeContentTypeParser('text/plain');
  if (requestIds) trackRequests(fastify);
  // Whatever has no rule of its own is private, or true for this moment only.
  const headers = { ...securityHeaders(), 'cache-control': 'no-store' };
  fastify.addHook('onRequest', plainClientAddress(environment.TRUST_PROXY, logger));
  // Ahead of the rate limit, so that a browser may read a 429.
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.headers(headers).header('x-request-id', request.id);
    done();
  });
  const { CORS_ORIGINS: origins } = environment;
  // Ends every OPTIONS ahead of the rate limit too: browsers send a preflight with each kind of request, which would
  // halve the limit of their users, and its answer takes less than a 429 does. It reaches no handler and no body.
  if (origins.length > 0)
    await app.register(cors, {
      origin: origins.includes('*') ? true : origins,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: EXPOSED_HEADERS,
      maxAge: 600,
      // An OPTIONS that is no preflight is answered as one, not with an error body of the plugin's own.
      strictPreflight: false,
    });
  const targets = app.get(RouteTargets);
  fastify.addHook('onRoute', targets.onRoute);
  fastify.addHook('onRoute', app.get(RouteLimits).onRoute);
  fastify.addHook('onRequest', app.get(CrossSiteGuard).onRequest);
  fastify.addHook('onRequest', app.get(RateLimiter).onRequest);
  fastify.addHook('onRequest', (request, _reply, done) =>
    done(isDecodable(request.originalUrl) ? undefined : malformedPath()),
  );
  fastify.addHook('onResponse', app.get(HttpMetrics).onResponse);
  if (environment.DOCS) await serveDocs(app);
  watchConnections(fastify.server, environment.TRUST_PROXY);
  const withdraw = provideConstraints(app);
  fastify.addHook('onClose', (_, done) => done(void withdraw()));
  await prepare?.(app);
  targets.learn();
  givePlainData(app);
  await app.init();
  await fastify.ready();
  return app;
}

/** What helmet would set on every answer. It is the same for all, so helmet is asked once. */
function securityHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => (headers[name.toLowerCase()] = value),
    removeHeader: () => undefined,
  };
  const options = {
    // Of use to pages only, and the API's answers are data.
    contentSecurityPolicy: false,
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  };
  helmet(options)({} as IncomingMessage, response as unknown as ServerResponse, () => undefined);
  return headers;
}

function createAdapter(environment: Environment, logger: Logger): EnvelopeAdapter {
  return new EnvelopeAdapter({
    // One child logger a request costs more than its line; what is logged names the request instead.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: (request: IncomingMessage) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    },
    bodyLimit: BODY_LIMIT,
    // What still comes on an open connection while the server drains is answered, not refused with a body of Fastify's.
    return503OnClosing: false,
    trustProxy: environment.TRUST_PROXY.length > 0 ? environment.TRUST_PROXY : false,
    rewriteUrl: ({ url = '/' }: IncomingMessage) => {
      // Every path works with and without a leading /api.
      const path = url.replace(/^\/api(?=[/?]|$)/, '').replace(/^(?!\/)/, '/');
      // The router would refuse it ahead of every hook: unlimited, unlogged, without a request id. A hook does instead.
      return isDecodable(url) ? path : path.replaceAll('%', '%25');
    },
    // Whatever else the router refuses, which neither Nest nor the error handler gets.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
      sendError(hideText(error), request, reply),
    // A client that sends nothing, or byte by byte, or does not read its answers holds no connection for longer; in ms.
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 1000 },
    requestTimeout: 15_000,
    connectionTimeout: 15_000,
    // Between requests; longer than balancers wait, so that it is they who close a connection.
    keepAliveTimeout: 65_000,
    clientErrorHandler: refuseConnection,
    // No shorter than what Node accepts for all headers: an id that is too long is one that does not exist.
    routerOptions: { maxParamLength: 16 * 1024 },
  });
}

const malformedPath = (): Error =>
  validationFailed({ field: 'path', message: 'is not a valid percent-encoding' });

function isDecodable(url: string): boolean {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url.replace(/[?#].*$/s, ''));
    return true;
  } catch {
    return false;
  }
}
