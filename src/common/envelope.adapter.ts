import { StreamableFile } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import type { Server } from 'node:http';
import { hideText } from './error.filter';
import { JsonText } from './json-text';
import { LegacyEnvelope, Page, type Pagination } from './pagination';

const JSON_TYPE = 'application/json; charset=utf-8';

/** What stands around a payload: nothing, or more than `success` and `data`. */
export interface EnvelopeOptions {
  raw?: boolean;
  pagination?: Pagination;
  /** The payload's fields stand at the top level too. */
  legacy?: boolean;
}

declare module 'fastify' {
  interface FastifyReply {
    envelope: EnvelopeOptions | null;
  }
}

type ErrorHandler = Parameters<FastifyAdapter['setErrorHandler']>[0];

/**
 * Puts the success envelope around what a handler returns: `{ success: true, data }`, lists with `pagination`.
 *
 * It does so where NestJS hands answers to Fastify, beneath interceptors: a single NestInterceptor for all routes
 * sends every request through rxjs observables and async resources, which cost as much as the rest of the framework.
 * Left as they are: files, streams, buffers, what has a content type of its own, errors, and `@RawResponse()`.
 */
export class EnvelopeAdapter extends FastifyAdapter {
  private hasMiddleware = false;

  constructor(options: FastifyHttpOptions<Server>) {
    super(options);
    this.instance.decorateReply('envelope', null);
  }

  /** NestJS gives a status with the bodies of errors only: those of handlers have theirs already. */
  override reply(response: FastifyReply, payload: unknown, status?: number): FastifyReply {
    if (status !== undefined || !takesEnvelope(response, payload))
      return super.reply(response, withoutEnvelope(response, payload), status);
    if (hasNoBody(response.statusCode)) return response.send();
    return response.header('content-type', JSON_TYPE).send(envelope(payload, response.envelope));
  }

  /** Hides the texts of Fastify's own errors before NestJS makes exceptions of them that look like a module's. */
  override setErrorHandler(handler: ErrorHandler): ReturnType<FastifyAdapter['setErrorHandler']> {
    return super.setErrorHandler((error, request, reply) =>
      (handler as (...args: unknown[]) => void)(hideText(error), request, reply),
    );
  }

  /** The host of middleware costs every request, so it is loaded by the first module or `app.use` that has some. */
  override async init(): Promise<void> {
    if (this.hasMiddleware) await super.init();
  }

  override use(...args: unknown[]): ReturnType<FastifyAdapter['use']> {
    this.beforeMiddleware();
    return super.use(...(args as [never]));
  }

  override createMiddlewareFactory(
    ...args: Parameters<FastifyAdapter['createMiddlewareFactory']>
  ): ReturnType<FastifyAdapter['createMiddlewareFactory']> {
    this.beforeMiddleware();
    return super.createMiddlewareFactory(...args);
  }

  /** Middleware may answer on Node's response, which knows nothing of the headers set on Fastify's so far. */
  private beforeMiddleware(): void {
    if (this.hasMiddleware) return;
    this.hasMiddleware = true;
    this.instance.addHook('onRequest', (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value);
      done();
    });
  }
}

const hasNoBody = (status: number): boolean => status === 204 || status === 205 || status === 304;

function takesEnvelope(response: FastifyReply, payload: unknown): boolean {
  if (response.envelope?.raw || response.statusCode >= 400) return false;
  const type = response.getHeader('content-type');
  if (type !== undefined && !/^application\/json\s*(;|$)/i.test(String(type))) return false;
  return typeof payload !== 'object' || payload === null || !isBytes(payload);
}

/** What Fastify sends as it is: files, streams of Node and the web, buffers, and fetch's Response. */
function isBytes(payload: object): boolean {
  if (payload instanceof JsonText || payload instanceof Page) return false;
  const { pipe, getReader } = payload as { pipe?: unknown; getReader?: unknown };
  return (
    payload instanceof StreamableFile ||
    typeof pipe === 'function' ||
    typeof getReader === 'function' ||
    ArrayBuffer.isView(payload) ||
    payload instanceof Response
  );
}

function withoutEnvelope(response: FastifyReply, payload: unknown): unknown {
  if (payload instanceof JsonText) {
    if (!response.getHeader('content-type')) void response.header('content-type', JSON_TYPE);
    return payload.text;
  }
  return payload instanceof LegacyEnvelope ? payload.payload : payload;
}

/** The body of a successful answer, as JSON text. */
export function envelope(payload: unknown, options: EnvelopeOptions | null = null): string {
  if (payload instanceof JsonText) return `{"success":true,"data":${payload.text}}`;
  if (payload instanceof Page) return list(payload.items.text, payload.pagination);
  if (payload instanceof LegacyEnvelope) return legacy(payload.payload as object);
  // What an interceptor made of such a payload.
  if (options?.pagination && Array.isArray(payload)) return list(JSON.stringify(payload), options.pagination);
  if (options?.legacy && typeof payload === 'object' && payload !== null) return legacy(payload);
  return JSON.stringify({ success: true, data: payload ?? null });
}

const list = (items: string, { page, limit, total, pages }: Pagination): string =>
  `{"success":true,"data":${items},"pagination":{"page":${page},"limit":${limit},"total":${total},"pages":${pages}}}`;

const legacy = (payload: object): string => JSON.stringify({ success: true, data: payload, ...payload });
