import type { FastifyRequest } from 'fastify';
import type { IncomingMessage, Server } from 'node:http';
import { redactText } from '#platform/log/redact';
import { Repeats } from '#platform/log/outage-log';
import { isProbe } from '#platform/log/request-line';

const repeats = new Repeats();
const draining = new WeakSet<Server>();

/** From now on what fails here is no error: a request that was cut, or a readiness that is to fail. */
export const expectFailures = (server: Server): unknown => draining.add(server);

const developing = new WeakSet<Server>();

/** From now on an answer 500 carries its reason. Never in production. */
export const includeReasons = (server: Server): unknown => developing.add(server);

/** The field of an answer 500 that tells a developer what failed. */
export function reasonOf(error: unknown, request: FastifyRequest | IncomingMessage): { reason?: string } {
  if (!('raw' in request) || !developing.has(request.server.server)) return {};
  return { reason: redactText(error instanceof Error ? error.message : String(error)) };
}

/**
 * Logs why a request became a 5xx. In an outage all fail in the same way, so each cause is told once a second, with how
 * many more there were; the line of each request has its status and code.
 * @param request Node's, with `log` and `id`, if middleware failed
 */
export function logFailure(
  error: unknown,
  request: FastifyRequest | (IncomingMessage & Pick<FastifyRequest, 'log' | 'id'>),
  status: number,
  { code, error: text }: { code: string; error: string },
): void {
  const route = 'raw' in request ? (request.routeOptions.url ?? '') : '';
  const isExpected = 'raw' in request && draining.has(request.server.server);
  const level = isProbe(route) ? 'debug' : isExpected ? 'warn' : 'error';
  const { name, message, code: kind } = (error ?? {}) as Record<string, unknown>;
  // What is broken, and no outage, is told for each route.
  const cause = [level, status === 503 || route, name, kind, message ?? error].map(String).join(' ');
  const { log } = request;
  if (repeats.isFirst(cause, (leftOut) => log[level]({ code, leftOut }, `${text}, ${leftOut} times more`)))
    log[level]({ reqId: request.id, code, err: error }, text);
}
