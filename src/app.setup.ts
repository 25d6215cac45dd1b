import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyError, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { AppModule } from './app.module';
import { sendError } from './common/error.filter';
import { NestLogger, createLogger } from './common/logger';
import { RateLimiter } from './common/rate-limiter';
import type { Environment } from './config/environment';
import { serveDocs } from './docs';
import { HttpMetrics } from './metrics/http-metrics';

/** Bytes. */
const BODY_LIMIT = 64 * 1024;
const EXPOSED_HEADERS = [
  'X-Request-Id',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

/** Builds the API as production serves it; the tests use the same. It does not listen yet. */
export async function createApp(
  environment: Environment,
  logger: Logger = createLogger(environment),
): Promise<NestFastifyApplication> {
  const adapter = createAdapter(environment, logger);
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.register(environment), adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  const fastify = adapter.getInstance();
  // Ahead of the rate limit, so that a browser may read a 429.
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header('X-Request-Id', request.id);
    done();
  });
  await app.register(helmet, { contentSecurityPolicy: false });
  const { CORS_ORIGINS: origins } = environment;
  await app.register(cors, {
    origin: origins.includes('*') ? true : origins,
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 600,
  });
  fastify.addHook('onRequest', app.get(RateLimiter).onRequest);
  fastify.addHook('onResponse', app.get(HttpMetrics).onResponse);
  serveDocs(app);
  await app.init();
  await fastify.ready();
  return app;
}

function createAdapter(environment: Environment, logger: Logger): FastifyAdapter {
  return new FastifyAdapter({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: (request: IncomingMessage) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    },
    bodyLimit: BODY_LIMIT,
    trustProxy: environment.TRUST_PROXY.length > 0 ? environment.TRUST_PROXY : false,
    // Every path works with and without a leading /api.
    rewriteUrl: ({ url = '/' }: IncomingMessage) =>
      url.replace(/^\/api(?=[/?]|$)/, '').replace(/^(?!\/)/, '/'),
    // Errors of routing, such as a bad percent-encoding, which neither Nest nor the error handler gets.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
      sendError(error, request, reply),
    // A client that sends its request byte by byte does not hold a connection for longer.
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    routerOptions: { maxParamLength: 200 },
  });
}
