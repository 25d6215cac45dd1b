import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';

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

/** Since Node 24 contexts follow promises natively. Before, hooks on every promise cost a tenth of a request. */
export const canTrackCheaply = Number(process.versions.node.split('.')[0]) >= 24;

/** Runs every request in a context of its own. Call this before other hooks are added. */
export function trackRequests(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, _reply, done) => current.run(contextOf(request), done));
  // A body arrives in events of the connection, which do not belong to a request.
  fastify.addHook('preValidation', (request, _reply, done) =>
    request.body === undefined ? done() : current.run(contextOf(request), done),
  );
}
