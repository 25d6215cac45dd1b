import { HttpException } from '@nestjs/common';

export interface ErrorDetail {
  field: string;
  message: string;
}

/** An error whose text is part of the interface. */
export class ApiError extends HttpException {
  constructor(
    status: number,
    message: string,
    readonly details?: ErrorDetail[],
    cause?: unknown,
  ) {
    super(message, status, { cause });
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
  new ApiError(400, 'Validation failed', details);

export const invalidToken = (): ApiError => new ApiError(401, 'Invalid token');
export const forbidden = (): ApiError => new ApiError(403, 'Forbidden');
export const notFound = (): ApiError => new ApiError(404, 'Not found');
export const serviceUnavailable = (): ApiError => new ApiError(503, 'Service unavailable');
