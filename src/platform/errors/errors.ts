import { HttpException } from '@nestjs/common';
import { ERRORS, type ErrorCode } from './error-codes';

export interface ErrorDetail {
  field: string;
  message: string;
}

/** Codes of errors that were thrown with only a status. */
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

/** The code of a status; by default `bad_request` below 500, `internal_error` from there. */
export const codeOf = (status: number): ErrorCode =>
  CODES[status] ?? (status < 500 ? 'bad_request' : 'internal_error');

export interface ApiErrorOptions {
  /** Default: the code of the status. */
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

/** The client decides how many details there could be, so their number and texts are limited. */
export const MAX_DETAILS = 20;
const MAX_TEXT = 200;

const shorten = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

export const boundDetails = (details: ErrorDetail[]): ErrorDetail[] =>
  details
    .slice(0, MAX_DETAILS)
    .map(({ field, message }) => ({ field: shorten(field), message: shorten(message) }));

/** An error with the status and text of its code. */
export const namedError = (code: ErrorCode, options: Omit<ApiErrorOptions, 'code'> = {}): ApiError =>
  new ApiError(ERRORS[code].status, ERRORS[code].error, { ...options, code });

export const validationFailed = (...details: ErrorDetail[]): ApiError =>
  namedError('validation_failed', { details });

/** @param code the reason, if the guard knows it; the text is always the same */
export const invalidToken = (
  code: 'invalid_token' | 'token_expired' | 'token_revoked' = 'invalid_token',
): ApiError => namedError(code);
export const authenticationFailed = (): ApiError => namedError('authentication_failed');
export const forbidden = (): ApiError => namedError('forbidden');
export const notFound = (): ApiError => namedError('not_found');
export const serviceUnavailable = (code: 'unavailable' | 'outcome_unknown' = 'unavailable'): ApiError =>
  namedError(code);
