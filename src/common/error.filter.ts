import { ArgumentsHost, Catch, ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { isUnavailable } from '../database/unavailable';
import { ApiError, ErrorDetail, serviceUnavailable, validationFailed } from './errors';

/** Texts for errors that the framework raised; theirs would tell about the implementation. */
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
  503: 'Service unavailable',
};

export interface ErrorBody {
  success: false;
  error: string;
  details?: ErrorDetail[];
}

/** Turns whatever was thrown into the status and body that the interface specifies. */
export function describeError(error: unknown): { status: number; body: ErrorBody } {
  const known = toApiError(error);
  const body: ErrorBody = { success: false, error: known.message };
  if (known.details) body.details = known.details;
  return { status: known.getStatus(), body };
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isUnavailable(error)) return serviceUnavailable();
  const status =
    error instanceof HttpException
      ? error.getStatus()
      : Number((error as { statusCode?: unknown })?.statusCode);
  if (status === 400) return validationFailed({ field: 'request', message: 'request is malformed' });
  if (status >= 400 && status < 600 && TEXTS[status]) return new ApiError(status, TEXTS[status]);
  return new ApiError(500, 'Internal server error');
}

/** The one place where error bodies are made. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendError(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }
}

/** Whether the client went before its request was complete. */
const isAborted = ({ raw }: FastifyRequest): boolean => raw.destroyed && !raw.complete;

/** Also for errors that Fastify raises before Nest sees the request. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (isAborted(request)) {
    request.log.info({ reqId: request.id, ip: request.ip }, 'request ended by its client');
    return void reply.hijack();
  }
  const { status, body } = describeError(error);
  if (status >= 500) request.log.error({ reqId: request.id, err: error }, body.error);
  if (reply.sent) return;
  if (status === 503) void reply.header('Retry-After', '1');
  // Also for errors that come before the hook that says so.
  void reply.header('Cache-Control', 'no-store');
  void reply.status(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
}

/** For what never became a request, for it was too slow, too large or no HTTP: there is only the socket to answer on. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const statusCode = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }[error.code ?? ''] ?? 400;
  const { status, body } = describeError({ statusCode });
  const text = JSON.stringify(body);
  if (socket.writable)
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
  socket.destroy();
}
