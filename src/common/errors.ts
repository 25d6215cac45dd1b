import { HttpException } from '@nestjs/common';

export interface ErrorDetail {
  field: string;
  message: string;
}

/**
 * What clients tell errors apart by, with the status that each comes with. Part of the interface: a code keeps its
 * meaning, and texts may change.
 */
export const ERROR_CODES = {
  validation_failed: 400,
  invalid_json: 400,
  malformed_path: 400,
  bad_request: 400,
  deposit_below_minimum: 400,
  invalid_token: 401,
  token_expired: 401,
  token_revoked: 401,
  authentication_failed: 401,
  unauthorized: 401,
  forbidden: 403,
  owner_cannot_leave: 403,
  cross_site_request: 403,
  not_found: 404,
  no_open_draw: 404,
  idempotency_in_progress: 409,
  transaction_not_pending: 409,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited_general: 429,
  rate_limited_auth: 429,
  rate_limited: 429,
  too_many_connections: 429,
  internal_error: 500,
  unavailable: 503,
  busy: 503,
  chain_unknown: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Codes of errors that were thrown with a status alone. */
const CODES: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  503: 'unavailable',
};

/** The code of a status. Those without one of their own are faults of the request below 500, of the service from there. */
export const codeOf = (status: number): ErrorCode =>
  CODES[status] ?? (status < 500 ? 'bad_request' : 'internal_error');

export interface ApiErrorOptions {
  /** The one of the status when left out. */
  code?: ErrorCode;
  details?: ErrorDetail[];
  cause?: unknown;
}

/** An error whose text is part of the interface. */
export class ApiError extends HttpException {
  readonly code: ErrorCode;
  readonly details?: ErrorDetail[];

  constructor(
    status: number,
    message: string,
    { code = codeOf(status), details, cause }: ApiErrorOptions = {},
  ) {
    super(message, status, { cause });
    this.code = code;
    this.details = details;
  }
}

/** Limits for details and their texts, because the client decides how many there could be. */
export const MAX_DETAILS = 20;
const MAX_TEXT = 200;

const shorten = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

/** What an answer names of them. */
export const boundDetails = (details: ErrorDetail[]): ErrorDetail[] =>
  details
    .slice(0, MAX_DETAILS)
    .map(({ field, message }) => ({ field: shorten(field), message: shorten(message) }));

export const validationFailed = (...details: ErrorDetail[]): ApiError =>
  new ApiError(400, 'Validation failed', { code: 'validation_failed', details });

/** @param code why, where the guard knows; the text is the same for all */
export const invalidToken = (
  code: 'invalid_token' | 'token_expired' | 'token_revoked' = 'invalid_token',
): ApiError => new ApiError(401, 'Invalid token', { code });
export const authenticationFailed = (): ApiError =>
  new ApiError(401, 'Authentication failed', { code: 'authentication_failed' });
export const forbidden = (code: ErrorCode = 'forbidden'): ApiError =>
  new ApiError(403, 'Forbidden', { code });
export const notFound = (code: ErrorCode = 'not_found'): ApiError => new ApiError(404, 'Not found', { code });
export const serviceUnavailable = (code: ErrorCode = 'unavailable'): ApiError =>
  new ApiError(503, 'Service unavailable', { code });
