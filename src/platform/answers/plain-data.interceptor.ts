import {
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { type Observable, map } from 'rxjs';
import { INTERCEPTORS_METADATA } from '#platform/foreign/nest-internals';
import { handlersOf } from '#platform/http/route-targets';
import { JsonText } from './json-text';
import { CursorPage, Page, TopLevelCopy } from './pagination';

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
  if (payload instanceof Page || payload instanceof CursorPage) {
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
