import type { FastifyRequest } from 'fastify';
import { traceOf } from './request-context';

declare module 'fastify' {
  interface FastifyReply {
    /** Set by a handler whose answer goes on for long, and that counts and logs its end itself. */
    isReported: boolean;
  }
}

/** Characters of a path that are logged: the longest of the service has half of that. A client may send any. */
const MOST_PATH = 256;

/** Whether a route is for probes and Prometheus, which ask all the time. */
export const isProbe = (route: string): boolean => /^\/(health|metrics)(\/|$)/.test(route);

/** The fields of a log line about a request. The route is the matched one; the path has no query. */
export function lineOf(request: FastifyRequest): Record<string, unknown> & { route: string } {
  const trace = traceOf(request.headers.traceparent);
  return {
    reqId: request.id,
    traceId: trace?.traceId,
    parentId: trace?.parentId,
    method: request.method,
    path: pathOf(request.raw.url ?? '').slice(0, MOST_PATH),
    route: request.routeOptions.url ?? 'unknown',
    ip: request.ip,
    // The caller, if the token was valid.
    address: (request as { user?: { address: string } }).user?.address,
  };
}

/** Without the query, which may hold private data. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
