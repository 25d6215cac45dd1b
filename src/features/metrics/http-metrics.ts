import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Histogram } from 'prom-client';
import { isProbe, lineOf } from '#platform/log/request-line';

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
    if (reply.isReported) return done();
    const line = lineOf(request);
    const seconds = reply.elapsedTime / 1000;
    this.duration.observe({ method: request.method, route: line.route, status: reply.statusCode }, seconds);
    request.log[isProbe(line.route) ? 'debug' : 'info'](
      {
        ...line,
        status: reply.statusCode,
        code: reply.errorCode || undefined,
        ms: Math.round(reply.elapsedTime * 100) / 100,
      },
      'request',
    );
    done();
  };
}
