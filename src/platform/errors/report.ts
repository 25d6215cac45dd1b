import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';

/** Gets what becomes a 5xx, such as for Sentry. What it throws is logged, and changes no answer. */
export type OnError = (error: unknown, request: FastifyRequest) => unknown;

/** By Node's request, since errors of middleware come with nothing else. */
const reporters = new WeakMap<IncomingMessage, (error: unknown) => unknown>();

/** A hook of Fastify. */
export const reportTo =
  (onError: OnError) =>
  (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    reporters.set(request.raw, (error) => onError(error, request));
    done();
  };

/** @param request Node's, with `log` and `id`, if middleware failed */
export function report(error: unknown, request: FastifyRequest): void {
  const reporter = reporters.get(
    (request as Partial<FastifyRequest>).raw ?? (request as unknown as IncomingMessage),
  );
  if (!reporter) return;
  // Called inside a promise, so that what it throws is caught like what it rejects with.
  void new Promise((resolve) => resolve(reporter(error))).catch((err: unknown) =>
    request.log.error({ reqId: request.id, err }, 'onError failed'),
  );
}
