import { Type, applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiExtraModels, ApiProperty, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { Pagination } from '../common/pagination';

export class ErrorDetailBody {
  @ApiProperty({ description: 'Path of the field, such as members[2]' }) field: string;
  @ApiProperty() message: string;
}

export class ErrorResponse {
  @ApiProperty({ enum: [false], type: 'boolean' }) success: false;
  @ApiProperty() error: string;
  @ApiProperty({ type: [ErrorDetailBody], required: false }) details?: ErrorDetailBody[];
}

interface Options {
  status?: number;
  list?: boolean;
  /** The payload's fields stand at the top level too. */
  bareCopy?: boolean;
  /** Statuses of its own; 403, 429, 500 and 503 may come from every endpoint. */
  errors?: number[];
}

const DESCRIPTIONS: Record<number, string> = {
  400: 'Validation failed; `details` names the fields',
  401: 'Token or sign-in refused',
  403: 'Neither owned by the caller nor shared with it, or sent by a foreign web page',
  404: 'Not found',
  409: 'The first request with this Idempotency-Key is still running',
  413: 'Body larger than 64 KiB',
  415: 'Body that is not JSON',
  422: 'The Idempotency-Key was used for another request',
  429: 'Rate limit exceeded; Retry-After holds the seconds to wait',
  500: 'Internal server error',
  503: 'Database out, or too busy; Retry-After holds the seconds to wait',
};

/** Documents an error that an endpoint answers with. */
export const ApiFailure = (
  status: number,
  description = DESCRIPTIONS[status] ?? 'Error',
): MethodDecorator & ClassDecorator => ApiResponse({ status, description, type: ErrorResponse });

/** Documents the enveloped answers of an endpoint, from the class of its payload. */
export function ApiData(
  model: Type,
  { status = 200, list = false, bareCopy = false, errors = [] }: Options = {},
): MethodDecorator {
  const payload = { $ref: getSchemaPath(model) };
  const envelope = {
    type: 'object' as const,
    required: ['success', 'data', ...(list ? ['pagination'] : [])],
    properties: {
      success: { type: 'boolean' as const, enum: [true] },
      data: list ? { type: 'array' as const, items: payload } : payload,
      ...(list && { pagination: { $ref: getSchemaPath(Pagination) } }),
    },
  };
  return applyDecorators(
    ApiExtraModels(model, Pagination, ErrorResponse),
    ApiResponse({
      status,
      description: 'Success',
      schema: bareCopy ? { allOf: [envelope, payload] } : envelope,
    }),
    ...[...new Set([...errors, 403, 429, 500, 503])].map((code) => ApiFailure(code)),
    ...(errors.includes(401) && !bareCopy ? [ApiBearerAuth()] : []),
  );
}
