import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { JsonText } from './json-text';
import { Page } from './pagination';

/**
 * Puts the success envelope around what a handler returns: `{ success: true, data }`, lists with `pagination`.
 *
 * It intercepts answers where NestJS hands them to Fastify, one level beneath NestInterceptor: a single interceptor
 * of that kind sends every request through rxjs observables and async resources, which cost as much as all the rest
 * of the framework. Errors, probes and metrics, which have no envelope, are sent past it.
 */
export class EnvelopeInterceptor extends FastifyAdapter {
  override reply(response: FastifyReply, payload: unknown, status?: number): FastifyReply {
    if (status !== undefined) void response.code(status);
    return response.header('content-type', 'application/json; charset=utf-8').send(envelope(payload));
  }
}

/** A payload that older clients expect at the top level too. */
export class WithBareCopy<T extends object> {
  constructor(readonly payload: T) {}
}

/** The body of a successful answer, as JSON text. */
export function envelope(payload: unknown): string {
  if (payload instanceof Page) {
    const { page, limit, total, pages } = payload.pagination;
    return `{"success":true,"data":${payload.items.text},"pagination":{"page":${page},"limit":${limit},"total":${total},"pages":${pages}}}`;
  }
  if (payload instanceof JsonText) return `{"success":true,"data":${payload.text}}`;
  if (payload instanceof WithBareCopy)
    return JSON.stringify({ success: true, data: payload.payload as object, ...payload.payload });
  return JSON.stringify({ success: true, data: payload });
}
