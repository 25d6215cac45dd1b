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
 * Logs why a request became a 5xx. In an outage all fail in the same way, so each cause is logged once a second, with how
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
  // What is broken, and no outage, is logged for each route.
  const cause = [level, status === 503 || route, name, kind, message ?? error].map(String).join(' ');
  const { log } = request;
  if (repeats.isFirst(cause, (leftOut) => log[level]({ code, leftOut }, `${text}, ${leftOut} times more`)))
    log[level]({ reqId: request.id, code, err: error }, text);
}

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
