import { ArgumentsHost, Catch, ExceptionFilter, HttpException, NotFoundException } from '@nestjs/common';
import { FORBIDDEN_MESSAGE } from '@nestjs/core/guards/constants';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isUnavailable } from '../database/unavailable';
import {
  ApiError,
  ErrorDetail,
  boundDetails,
  notFound,
  serviceUnavailable,
  validationFailed,
} from './errors';
import { describeViolations } from './validation.pipe';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Texts for errors that the framework raised, or that were thrown without one. */
const TEXTS: Record<number, string> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  413: 'Payload too large',
  414: 'URI too long',
  415: 'Unsupported media type',
  429: 'Too many requests from this IP',
  431: 'Request header fields too large',
  500: 'Internal server error',
  503: 'Service unavailable',
};

const textOf = (status: number): string => TEXTS[status] ?? STATUS_CODES[status] ?? 'Error';
const isErrorStatus = (status: unknown): status is number =>
  typeof status === 'number' && status >= 400 && status < 600;

export interface ErrorBody {
  success: false;
  error: string;
  details?: ErrorDetail[];
  /** What a module put into its exception. */
  [field: string]: unknown;
}

interface ErrorAnswer {
  status: number;
  body: ErrorBody;
}

/** Turns whatever was thrown into the status and body that the interface specifies. */
export function describeError(error: unknown): ErrorAnswer {
  if (error instanceof ApiError) return answer(error.getStatus(), error.message, error.details);
  if (error instanceof HttpException) return describeException(error);
  if (isUnavailable(error)) return describeError(serviceUnavailable());
  const { code, expose, statusCode, message } = (error ?? {}) as Record<string, unknown>;
  // A convention of the http-errors package: the text is meant for the client.
  if (expose === true && isErrorStatus(statusCode)) return answer(statusCode, String(message));
  // Of a Fastify plugin, such as a file that is too large.
  if (typeof code === 'string' && code.startsWith('FST_') && isErrorStatus(statusCode))
    return describeError(hideText(error));
  return answer(500, textOf(500));
}

function answer(status: number, error: string, details?: ErrorDetail[]): ErrorAnswer {
  return { status, body: { success: false, error, ...(details && { details: boundDetails(details) }) } };
}

/** An exception of NestJS was thrown on purpose, by code or a pipe: its status and text are for the client. */
function describeException(exception: HttpException): ErrorAnswer {
  const thrown = exception.getStatus();
  const status = thrown >= 300 && thrown < 600 ? thrown : 500;
  const response = exception.getResponse();
  if (typeof response === 'string') return answer(status, response || textOf(status));
  // `new ConflictException(error)`: the text of another error was not written for the client.
  if (response instanceof Error) return answer(status, textOf(status));
  const {
    message,
    error,
    statusCode: _code,
    success: _success,
    ...fields
  } = response as Record<string, unknown>;
  // `new NotFoundException()`: NestJS sets the status's name as text.
  const name = STATUS_CODES[status]?.toLowerCase();
  if (error === undefined && String(message).toLowerCase() === name) return answer(status, textOf(status));
  if (Array.isArray(message)) {
    const text = status === 400 ? 'Validation failed' : typeof error === 'string' ? error : textOf(status);
    return answer(status, text, message.flatMap(toDetails));
  }
  // What NestJS throws when a guard says no.
  if (status === 403 && message === FORBIDDEN_MESSAGE) return answer(status, textOf(status));
  const text = [message, error].find((each) => typeof each === 'string' && each !== '');
  return { status, body: { ...fields, success: false, error: (text as string) ?? textOf(status) } };
}

/** A message for the client: text, a detail of ours, or an error of class-validator. */
function toDetails(message: unknown): ErrorDetail[] {
  if (typeof message !== 'object' || message === null)
    return [{ field: 'request', message: String(message) }];
  if ('property' in message)
    return describeViolations([message as Parameters<typeof describeViolations>[0][0]]);
  const { field = 'request', message: text = 'is invalid' } = message as Partial<ErrorDetail>;
  return [{ field: String(field), message: String(text) }];
}

/** The error of a status alone, for what Fastify raised: its own text would tell about the implementation. */
export function hideText(error: unknown): unknown {
  if (error instanceof HttpException) return error;
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  if (statusCode === 400) return validationFailed({ field: 'request', message: 'request is malformed' });
  return isErrorStatus(statusCode) ? new ApiError(statusCode, textOf(statusCode), undefined, error) : error;
}

/** The one place where error bodies are made. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendError(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }
}

/** Whether the client went before its request was complete. Middleware gets Node's request, which has no `raw`. */
function isAborted(request: FastifyRequest | IncomingMessage): boolean {
  const { destroyed, complete } = 'raw' in request ? request.raw : request;
  return destroyed && !complete;
}

/** Also for errors that Fastify raises before Nest sees the request, and those of middleware, which has Node's reply. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply | ServerResponse,
): void {
  if (isAborted(request)) {
    request.log.info({ reqId: request.id, ip: request.ip }, 'request ended by its client');
    return void ('raw' in reply ? reply.hijack() : reply.destroy());
  }
  // The router's own text repeats the path.
  const unknownRoute = request.is404 && error instanceof NotFoundException;
  const { status, body } = describeError(unknownRoute ? notFound() : error);
  if (status >= 500) request.log.error({ reqId: request.id, err: error }, body.error);
  const text = toJson(body);
  const headers = {
    'content-type': JSON_TYPE,
    // Whatever the handler had said of its answer before it failed.
    'cache-control': 'no-store',
    ...(status === 503 && { 'retry-after': '1' }),
  };
  if ('raw' in reply) {
    if (!reply.sent) void reply.status(status).headers(headers).send(text);
  } else if (!reply.headersSent) {
    reply.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
  }
}

/** What a module puts into an exception need not be fit for JSON. */
function toJson(body: ErrorBody): string {
  try {
    return JSON.stringify(body, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  } catch {
    return JSON.stringify({ success: false, error: body.error });
  }
}

/** For what never became a request, for it was too slow, too large or no HTTP: there is only the socket to answer on. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const statusCode = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }[error.code ?? ''] ?? 400;
  const { status, body } = describeError(hideText({ statusCode }));
  const text = JSON.stringify(body);
  if (socket.writable)
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
  socket.destroy();
}
