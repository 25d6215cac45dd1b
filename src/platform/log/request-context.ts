import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance } from 'fastify';

const current = new AsyncLocalStorage<string>();

/** The id of the request that the running code serves, if any. */
export const currentRequestId = (): string | undefined => current.getStore();

/** Since Node 24 contexts follow promises natively. Before, hooks on every promise cost a tenth of a request. */
export const canTrackCheaply = Number(process.versions.node.split('.')[0]) >= 24;

/** Runs every request in a context of its own. Call this before other hooks are added. */
export function trackRequests(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, _reply, done) => current.run(request.id, done));
  // A body arrives in events of the connection, which do not belong to a request.
  fastify.addHook('preValidation', (request, _reply, done) =>
    request.body === undefined ? done() : current.run(request.id, done),
  );
}
