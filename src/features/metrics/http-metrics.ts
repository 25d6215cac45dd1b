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
    const { elapsedTime, statusCode: status } = reply;
    const line = lineOf(request);
    this.duration.observe({ method: request.method, route: line.route, status }, elapsedTime / 1000);
    line.status = status;
    if (reply.errorCode) line.code = reply.errorCode;
    line.ms = Math.round(elapsedTime * 100) / 100;
    request.log[isProbe(line.route) ? 'debug' : 'info'](line, 'request');
    done();
  };
}
