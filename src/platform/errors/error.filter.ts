import { ArgumentsHost, Catch, ExceptionFilter, HttpException, NotFoundException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FORBIDDEN_MESSAGE } from '#platform/foreign/nest-internals';
import { refusedInput } from '#platform/postgres/refused-input';
import { isOutcomeUnknown, isUnavailable } from '#platform/postgres/unavailable';
import { ERRORS, type ErrorCode } from './error-codes';
import {
  ApiError,
  ErrorDetail,
  boundDetails,
  codeOf,
  notFound,
  serviceUnavailable,
  validationFailed,
} from './errors';
import { logFailure, reasonOf, report } from './failures';
import { describeViolations } from './violations';

const JSON_TYPE = 'application/json; charset=utf-8';
/** Errors that ask the client to wait a second, besides those with status 503. */
const SOON_OVER: unknown[] = ['too_many_connections', 'idempotency_in_progress'];

/** For errors of the framework, and for exceptions without a text. */
function textOf(status: number): string {
  const usual = ERRORS[codeOf(status)];
  return usual.status === status ? usual.error : (STATUS_CODES[status] ?? 'Error');
}

const isErrorStatus = (status: unknown): status is number =>
  typeof status === 'number' && status >= 400 && status < 600;

export interface ErrorBody {
  success: false;
  error: string;
  /** An ErrorCode, or what a module put into its exception. */
  code: string;
  details?: ErrorDetail[];
  /** The body that a module put into its exception. */
  [field: string]: unknown;
}

interface ErrorAnswer {
  status: number;
  body: ErrorBody;
}

declare module 'fastify' {
  interface FastifyReply {
    /** For the log; '' for answers that are not errors. */
    errorCode: string;
  }
}

/**
 * Turns anything thrown into the status and body of the interface.
 * @param reads whether the request only reads, so that it has no outcome
 */
export function describeError(error: unknown, reads = false): ErrorAnswer {
  if (error instanceof ApiError) return answer(error.getStatus(), error.message, error);
  if (error instanceof HttpException) return describeException(error);
  if (isOutcomeUnknown(error) && !reads) return describeError(serviceUnavailable('outcome_unknown'));
  if (isUnavailable(error)) return describeError(serviceUnavailable());
  const refused = refusedInput(error);
  if (refused) {
    const message = refused.column === undefined ? 'has a value that is not allowed' : 'must not be null';
    return describeError(validationFailed({ field: refused.column ?? 'request', message }));
  }
  const { code, expose, statusCode, message } = (error ?? {}) as Record<string, unknown>;
  // By convention of the http-errors package, this text is meant for the client.
  if (expose === true && isErrorStatus(statusCode)) return answer(statusCode, String(message));
  // From a Fastify plugin, for example when a file is too large.
  if (typeof code === 'string' && code.startsWith('FST_') && isErrorStatus(statusCode))
    return describeError(hideText(error));
  return answer(500, textOf(500));
}

function answer(
  status: number,
  error: string,
  { code = codeOf(status), details }: { code?: ErrorCode; details?: ErrorDetail[] } = {},
): ErrorAnswer {
  const body = { success: false as const, error, code, ...(details && { details: boundDetails(details) }) };
  return { status, body };
}

/** Code or a pipe throws NestJS exceptions on purpose: their status and text are for the client. */
function describeException(exception: HttpException): ErrorAnswer {
  const thrown = exception.getStatus();
  const status = thrown >= 300 && thrown < 600 ? thrown : 500;
  const response = exception.getResponse();
  if (typeof response === 'string') return answer(status, response || textOf(status));
  // `new ConflictException(error)`: the other error's text was not written for clients.
  if (response instanceof Error) return answer(status, textOf(status));
  const body = response as Record<string, unknown>;
  const { message, error, statusCode: _code, success: _success, ...fields } = body;
  // `new NotFoundException()`: NestJS uses the status name as the text.
  const name = STATUS_CODES[status]?.toLowerCase();
  if (error === undefined && String(message).toLowerCase() === name) return answer(status, textOf(status));
  if (Array.isArray(message)) {
    const text = status === 400 ? 'Validation failed' : typeof error === 'string' ? error : textOf(status);
    const code = status === 400 ? 'validation_failed' : undefined;
    return answer(status, text, { code, details: message.flatMap(toDetails) });
  }
  // NestJS throws this when a guard refuses.
  if (status === 403 && message === FORBIDDEN_MESSAGE) return answer(status, textOf(status));
  const text = [message, error].find((each) => typeof each === 'string' && each !== '');
  const code = typeof fields.code === 'string' ? fields.code : codeOf(status);
  return { status, body: { ...fields, success: false, error: (text as string) ?? textOf(status), code } };
}

/** A message for the client: a text, one of our details, or a class-validator error. */
function toDetails(message: unknown): ErrorDetail[] {
  if (typeof message !== 'object' || message === null)
    return [{ field: 'request', message: String(message) }];
  if ('property' in message)
    return describeViolations([message as Parameters<typeof describeViolations>[0][0]]);
  const { field = 'request', message: text = 'is invalid' } = message as Partial<ErrorDetail>;
  return [{ field: String(field), message: String(text) }];
}

/** An error for a status alone. Fastify's own text would reveal the implementation. */
export function hideText(error: unknown): unknown {
  if (error instanceof HttpException) return error;
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  if (!isErrorStatus(statusCode)) return error;
  if (statusCode !== 400) return new ApiError(statusCode, textOf(statusCode), { cause: error });
  const details = [{ field: 'request', message: 'request is malformed' }];
  return new ApiError(400, 'Validation failed', { code: codeOfMalformed(error), details });
}

function codeOfMalformed(error: unknown): ErrorCode {
  const { code } = error as { code?: unknown };
  if (code === 'FST_ERR_BAD_URL') return 'malformed_path';
  // A body with a forbidden key, such as `__proto__`, is a SyntaxError.
  return error instanceof SyntaxError || /^FST_ERR_CTP_.*JSON_BODY$/.test(String(code))
    ? 'invalid_json'
    : 'bad_request';
}

/** All error bodies are made here. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendError(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }
}

/** Whether the client left before its request was complete. Middleware gets Node's request, which has no `raw`. */
function isAborted(request: FastifyRequest | IncomingMessage): boolean {
  const { destroyed, complete } = 'raw' in request ? request.raw : request;
  return destroyed && !complete;
}

/**
 * Also handles errors that Fastify raises before Nest sees the request, and middleware errors, which have Node's
 * reply.
 */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply | ServerResponse,
): void {
  if (isAborted(request)) {
    request.log.info({ reqId: request.id, ip: request.ip }, 'request ended by its client');
    return void ('raw' in reply ? reply.hijack() : reply.destroy());
  }
  // The router's own text would repeat the path.
  const unknownRoute = request.is404 && error instanceof NotFoundException;
  const reads = request.method === 'GET' || request.method === 'HEAD';
  const { status, body } = describeError(unknownRoute ? notFound() : error, reads);
  // The client's own doing.
  if (status >= 500 && status !== 501) {
    logFailure(error, request, status, body);
    report(error, request);
  } else if (refusedInput(error))
    request.log.warn(
      { reqId: request.id, code: body.code, err: error },
      'the database refused input that no rule of its module did',
    );
  const text = toJson(status === 500 ? { ...body, ...reasonOf(error, request) } : body);
  const headers = {
    'content-type': JSON_TYPE,
    // The handler may have set headers before it failed.
    'cache-control': 'no-store',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...((status === 503 || SOON_OVER.includes(body.code)) && { 'retry-after': '1' }),
  };
  if ('raw' in reply) {
    reply.errorCode = body.code;
    // Fastify closes when it refuses a body, and a client that still sends would lose the answer. Node reads on.
    if (reply.hasHeader('connection'))
      void reply.header('connection', reply.raw.shouldKeepAlive ? 'keep-alive' : 'close');
    if (!reply.sent) void reply.status(status).headers(headers).send(text);
  } else if (!reply.headersSent) {
    reply.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
  }
}

/**
 * `message` repeats the text, because most clients look for it there. A module may put anything into an exception, even
 * what JSON cannot hold.
 */
function toJson({ success, error, code, ...fields }: ErrorBody): string {
  const body = { success, error, message: error, code };
  try {
    return JSON.stringify({ ...body, ...fields }, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
  } catch {
    return JSON.stringify(body);
  }
}

/** For connections that never sent a valid request: write straight to the socket. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const statusCode = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }[error.code ?? ''] ?? 400;
  const { status, body } = describeError(hideText({ statusCode }));
  const text = toJson(body);
  if (socket.writable)
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
  socket.destroy();
}
