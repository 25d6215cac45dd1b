import { Type, applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiExtraModels, ApiProperty, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { Pagination } from './pagination';

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
  /** Statuses of its own; 429, 500 and 503 may come from every endpoint. */
  errors?: number[];
}

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
    ...[...errors, 429, 500, 503].map((code) => ApiError(code)),
    ...(errors.includes(401) && !bareCopy ? [ApiBearerAuth()] : []),
  );
}

const ApiError = (status: number): MethodDecorator =>
  ApiResponse({ status, description: 'Error', type: ErrorResponse });
