import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';

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

/**
 * The fields of a log line about a request, to which others can be added. The route is the matched one; the path has no
 * query.
 */
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

/** The trace that a request belongs to, and the caller's span in it. */
interface Trace {
  traceId: string;
  parentId: string;
}

/** W3C Trace Context, 3.2.2: version, trace, parent, flags, and more in versions to come. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * Reads `traceparent`. Of a later version it reads what version 00 has too, as 3.2.3 says.
 * @returns undefined if there is none, or it is invalid
 */
export function traceOf(header: string | string[] | undefined): Trace | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, parentId, more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, parentId };
}

/** What log lines say of their request. */
type RequestContext = { reqId: string } & Partial<Trace>;

/** The id alone for requests without a trace: most have none, and so need no object. */
const current = new AsyncLocalStorage<string | RequestContext>();

/** The request that the running code serves, if any. */
export function currentRequest(): RequestContext | undefined {
  const found = current.getStore();
  return typeof found === 'string' ? { reqId: found } : found;
}

function contextOf({ id, headers: { traceparent } }: FastifyRequest): string | RequestContext {
  return traceparent === undefined ? id : { reqId: id, ...traceOf(traceparent) };
}

/** Runs every request in a context of its own. Call this before other hooks are added. */
export function trackRequests(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, _reply, done) => current.run(contextOf(request), done));
  // A body arrives in events of the connection, which do not belong to a request.
  fastify.addHook('preValidation', (request, _reply, done) =>
    request.body === undefined ? done() : current.run(contextOf(request), done),
  );
}
