import { CallHandler, ExecutionContext, Injectable, NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Observable, map } from 'rxjs';
import { JsonText } from './json-text';
import { Page } from './pagination';

/** Puts the success envelope around what a handler returns: `{ success: true, data }`, lists with `pagination`. */
@Injectable()
export class EnvelopeInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map((payload: unknown) => {
        void context.switchToHttp().getResponse<FastifyReply>().type('application/json; charset=utf-8');
        return envelope(payload);
      }),
    );
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
  if (payload instanceof WithBareCopy)
    return JSON.stringify({ success: true, data: payload.payload as object, ...payload.payload });
  const data = payload instanceof JsonText ? payload.text : JSON.stringify(payload);
  return `{"success":true,"data":${data}}`;
}
