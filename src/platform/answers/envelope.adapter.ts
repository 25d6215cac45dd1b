import { StreamableFile } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import type { Server } from 'node:http';
import { ErrorFilter, hideText, sendError } from '#platform/errors/error.filter';
import { FASTIFY_ROUTE_CONFIG_METADATA, replaceBaseCatch } from '#platform/foreign/nest-internals';
import { JsonText } from './json-text';
import { CursorPage, Page, TopLevelCopy } from './pagination';
import { sendText } from './send-text';

const JSON_TYPE = 'application/json; charset=utf-8';

declare module 'fastify' {
  interface FastifyReply {
    /** Whether the payload is sent without the envelope. */
    isRaw: boolean;
  }
}

type ErrorHandler = Parameters<FastifyAdapter['setErrorHandler']>[0];

/**
 * Wraps what a handler returns in the success envelope: `{ success: true, data }`, lists with `pagination`.
 *
 * It works where NestJS passes answers to Fastify, below interceptors. A NestInterceptor for all routes would send
 * every request through rxjs observables and async resources, which cost as much as the rest of the framework. Files,
 * streams, buffers, answers with their own content type, errors and `@RawResponse()` pass unchanged.
 */
export class EnvelopeAdapter extends FastifyAdapter {
  private hasMiddleware = false;
  private onError: (...args: unknown[]) => void = (error, request, reply) =>
    sendError(error, request as FastifyRequest, reply as FastifyReply);

  constructor(options: FastifyHttpOptions<Server>) {
    super(options);
    this.instance.decorateReply('isRaw', false);
    this.instance.decorateReply('errorCode', '');
    this.instance.decorateReply('isReported', false);
    // Routes take the handler that is set when they are added, and plugins add theirs before NestJS sets its own. Texts
    // of Fastify's own errors are hidden before NestJS turns them into exceptions that look like a module's.
    this.instance.setErrorHandler((error, request, reply) => this.onError(hideText(error), request, reply));
  }

  /** A `status` here means that the body is an error's: the status of a success is on the reply already. */
  override reply(response: FastifyReply, payload: unknown, status?: number): FastifyReply {
    if (status !== undefined || !takesEnvelope(response, payload))
      return super.reply(response, withoutEnvelope(response, payload), status);
    if (hasNoBody(response.statusCode)) return response.send();
    const text = envelope(payload);
    void response.header('content-type', JSON_TYPE);
    // The answers of sign-in hold tokens and nonces, so they get no ETag and are not compressed.
    return payload instanceof TopLevelCopy ? response.send(text) : sendText(response, text);
  }

  override setErrorHandler(handler: ErrorHandler): ReturnType<FastifyAdapter['setErrorHandler']> {
    this.onError = handler as EnvelopeAdapter['onError'];
    return this.instance;
  }

  /** Passes the `config` of a route on to Fastify, as NestJS does for routes of a single method. */
  override all(...args: unknown[]): unknown {
    if (args.length > 2) return super.all(...(args as [never]));
    const [path, handler] = args as [string, object];
    const config = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as object | undefined;
    return super.all(path, { config }, handler);
  }

  /** The middleware host slows down every request, so it is loaded only for the first middleware or `app.use`. */
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

  /** Middleware may answer on Node's response, which lacks the headers set on Fastify's reply so far. */
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

// Libraries tell adapters apart by the name of their class. By another name nestjs-cls would silently mount nothing.
Object.defineProperty(EnvelopeAdapter, 'name', { value: FastifyAdapter.name });
// Filters of modules that pass on what they caught answer in the form of the service. Other applications of the process
// keep NestJS's form.
const errorForm = new ErrorFilter();
replaceBaseCatch((adapter) => (adapter instanceof EnvelopeAdapter ? errorForm : undefined));

const hasNoBody = (status: number): boolean => status === 204 || status === 205 || status === 304;

function takesEnvelope(response: FastifyReply, payload: unknown): boolean {
  if (response.isRaw || response.statusCode >= 400) return false;
  const type = response.getHeader('content-type');
  if (type !== undefined && !/^application\/json\s*(;|$)/i.test(String(type))) return false;
  return typeof payload !== 'object' || payload === null || !isBytes(payload);
}

/** What Fastify sends unchanged: files, streams of Node and the web, buffers, and fetch's Response. */
function isBytes(payload: object): boolean {
  if (payload instanceof JsonText || payload instanceof Page || payload instanceof CursorPage) return false;
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
  return payload instanceof TopLevelCopy ? payload.payload : payload;
}

/** The body of a successful answer as JSON text. */
export function envelope(payload: unknown): string {
  if (payload instanceof JsonText) return `{"success":true,"data":${payload.text}}`;
  if (payload instanceof TopLevelCopy) {
    const { payload: data } = payload as TopLevelCopy<object>;
    return JSON.stringify({ success: true, data, ...data });
  }
  if (!(payload instanceof Page || payload instanceof CursorPage))
    return JSON.stringify({ success: true, data: payload ?? null });
  // What is undefined is left out.
  const rest = JSON.stringify({ pagination: payload.pagination, next: payload.next }).slice(1);
  return `{"success":true,"data":${payload.items.text},${rest}`;
}
