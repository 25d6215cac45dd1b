import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance } from 'fastify';

const current = new AsyncLocalStorage<string>();

/** The id of the request that the running code serves, if it serves one. */
export const currentRequestId = (): string | undefined => current.getStore();

/** Since Node 24 contexts follow a promise by themselves; before, hooks on every promise cost a tenth of a request. */
export const canTrackCheaply = Number(process.versions.node.split('.')[0]) >= 24;

/** Has every request run in a context of its own. To be called before other hooks are added. */
export function trackRequests(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, _reply, done) => current.run(request.id, done));
  // A body arrives in events of the connection, which has no request.
  fastify.addHook('preValidation', (request, _reply, done) =>
    request.body === undefined ? done() : current.run(request.id, done),
  );
}
