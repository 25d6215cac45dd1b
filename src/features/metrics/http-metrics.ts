import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Histogram } from 'prom-client';
import { traceOf } from '#platform/log/trace-context';
import type { AuthenticatedUser } from '#features/access/current-user';

/**
 * Measures and logs every finished request. Labels hold the matched route, never the raw path, so their number is
 * bounded.
 */
@Injectable()
export class HttpMetrics {
  constructor(
    @InjectMetric('http_request_duration_seconds')
    private readonly duration: Histogram<'method' | 'route' | 'status'>,
  ) {}

  readonly onResponse = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const route = request.routeOptions.url ?? 'unknown';
    const seconds = reply.elapsedTime / 1000;
    this.duration.observe({ method: request.method, route, status: reply.statusCode }, seconds);
    const trace = traceOf(request.headers.traceparent);
    request.log.info(
      {
        reqId: request.id,
        traceId: trace?.traceId,
        parentId: trace?.parentId,
        method: request.method,
        path: pathOf(request.raw.url ?? ''),
        route,
        status: reply.statusCode,
        code: reply.errorCode || undefined,
        ip: request.ip,
        // The caller, if the token was valid.
        address: (request as { user?: AuthenticatedUser }).user?.address,
        ms: Math.round(reply.elapsedTime * 100) / 100,
      },
      'request',
    );
    done();
  };
}

/** Without the query, which may hold private data. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
