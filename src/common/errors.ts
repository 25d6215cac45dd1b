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

export const validationFailed = (...details: ErrorDetail[]): ApiError =>
  new ApiError(400, 'Validation failed', details);

export const invalidToken = (): ApiError => new ApiError(401, 'Invalid token');
export const forbidden = (): ApiError => new ApiError(403, 'Forbidden');
export const notFound = (): ApiError => new ApiError(404, 'Not found');
export const serviceUnavailable = (): ApiError => new ApiError(503, 'Service unavailable');
