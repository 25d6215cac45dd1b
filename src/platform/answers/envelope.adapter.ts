import {
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import type { Server } from 'node:http';
import { type Observable, map } from 'rxjs';
import { ErrorFilter, hideText, sendError } from '#platform/errors/error.filter';
import {
  FASTIFY_ROUTE_CONFIG_METADATA,
  INTERCEPTORS_METADATA,
  replaceBaseCatch,
} from '#platform/foreign/nest-internals';
import { handlersOf } from '#platform/http/route-targets';
import { JsonText } from './json-text';
import { Page, TopLevelCopy } from './pagination';
import { sendText } from './send-text';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Fields beside the items of a page. */
export type PagePosition = Pick<Page, 'pagination' | 'next'>;

/** How to wrap a payload, where it differs from `success` and `data`. */
export interface EnvelopeOptions {
  raw?: boolean;
  page?: PagePosition;
  /** Repeat the payload's fields at the top level, as of a TopLevelCopy. */
  topLevelCopy?: boolean;
}

declare module 'fastify' {
  interface FastifyReply {
    envelope: EnvelopeOptions | null;
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
    this.instance.decorateReply('envelope', null);
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
    const text = envelope(payload, response.envelope);
    void response.header('content-type', JSON_TYPE);
    return hasTopLevelCopy(response, payload) ? response.send(text) : sendText(response, text);
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
  if (response.envelope?.raw || response.statusCode >= 400) return false;
  const type = response.getHeader('content-type');
  if (type !== undefined && !/^application\/json\s*(;|$)/i.test(String(type))) return false;
  return typeof payload !== 'object' || payload === null || !isBytes(payload);
}

/** These are the answers of sign-in. They hold tokens and nonces, so they get no ETag and are not compressed. */
const hasTopLevelCopy = ({ envelope: options }: FastifyReply, payload: unknown): boolean =>
  payload instanceof TopLevelCopy || options?.topLevelCopy === true;

/** What Fastify sends unchanged: files, streams of Node and the web, buffers, and fetch's Response. */
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
  return payload instanceof TopLevelCopy ? payload.payload : payload;
}

/** The body of a successful answer as JSON text. */
export function envelope(payload: unknown, options: EnvelopeOptions | null = null): string {
  if (payload instanceof JsonText) return `{"success":true,"data":${payload.text}}`;
  if (payload instanceof Page) return list(payload.items.text, payload);
  if (payload instanceof TopLevelCopy) return withTopLevelCopy(payload.payload as object);
  // An interceptor has changed the payload.
  if (options?.page && Array.isArray(payload)) return list(JSON.stringify(payload), options.page);
  if (options?.topLevelCopy && typeof payload === 'object' && payload !== null)
    return withTopLevelCopy(payload);
  return JSON.stringify({ success: true, data: payload ?? null });
}

function list(items: string, { pagination, next }: PagePosition): string {
  // What is undefined is left out.
  const rest = JSON.stringify({ pagination, next }).slice(1);
  return `{"success":true,"data":${items}${rest === '}' ? '' : ','}${rest}`;
}

const withTopLevelCopy = (payload: object): string =>
  JSON.stringify({ success: true, data: payload, ...payload });

/** Gives interceptors plain objects and arrays. Keeps aside what the envelope needs. */
class PlainData implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(map((payload: unknown) => plain(payload, reply)));
  }
}

function plain(payload: unknown, reply: FastifyReply): unknown {
  if (payload instanceof JsonText) return payload.toJSON();
  if (payload instanceof Page) {
    const { pagination, next } = payload;
    reply.envelope = { ...reply.envelope, page: { pagination, next } };
    return payload.items.toJSON();
  }
  if (payload instanceof TopLevelCopy) {
    reply.envelope = { ...reply.envelope, topLevelCopy: true };
    return payload.payload;
  }
  return payload;
}

const PLAIN_DATA = new PlainData();

/**
 * Adds PlainData as the innermost interceptor to every handler that has interceptors. Other payloads pass unparsed.
 * Call this before the routes are created.
 */
export function givePlainData(app: INestApplication): void {
  const config = app.get(ApplicationConfig);
  const everywhere =
    config.getGlobalInterceptors().length > 0 || config.getGlobalRequestInterceptors().length > 0;
  const intercepted = (target: object): NestInterceptor[] | undefined =>
    Reflect.getMetadata(INTERCEPTORS_METADATA, target) as NestInterceptor[] | undefined;
  for (const { controller, handler, method } of handlersOf(app))
    if (!intercepted(handler)?.includes(PLAIN_DATA))
      if (everywhere || intercepted(controller) || intercepted(handler))
        UseInterceptors(PLAIN_DATA)(controller.prototype as object, method, { value: handler });
}
