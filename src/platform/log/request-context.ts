import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Trace, traceOf } from './trace-context';

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
