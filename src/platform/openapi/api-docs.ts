import { HttpCode, type Type, applyDecorators } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiExtension,
  ApiExtraModels,
  ApiOperation,
  ApiProperty,
  ApiResponse,
  type OpenAPIObject,
} from '@nestjs/swagger';
import { Pagination } from '#platform/answers/pagination';
import { ERRORS, ERROR_CODES, type ErrorCode } from '#platform/errors/error-codes';
import { HTTP_CODE_METADATA } from '#platform/foreign/nest-internals';

class ErrorDetailBody {
  @ApiProperty({ description: 'Path of the field, such as names[2]', example: 'names[2]' }) field: string;
  @ApiProperty({ description: 'What is wrong with the field', example: 'must be a text' }) message: string;
}

export class ErrorResponse {
  @ApiProperty({ enum: [false], type: 'boolean' }) success: false;
  @ApiProperty({ description: 'Error text in English', example: 'Validation failed' }) error: string;
  @ApiProperty({ description: 'The same as `error`', example: 'Validation failed' }) message: string;
  @ApiProperty({
    enum: ERROR_CODES,
    enumName: 'ErrorCode',
    description: 'Error code for programs; it stays while texts change',
    example: 'validation_failed',
  })
  code: ErrorCode;
  @ApiProperty({
    type: [ErrorDetailBody],
    required: false,
    description: 'The fields or parts concerned, at most 20',
  })
  details?: ErrorDetailBody[];
  @ApiProperty({
    required: false,
    description: 'More detail, in development only',
    example: 'the Expiration Time of the message is over',
  })
  reason?: string;
}

interface Options {
  /** A few words, for the table of contents. */
  summary?: string;
  /** What it does and for whom, what the answer means, and what else a caller must know. Markdown. */
  description?: string;
  /** 200 if neither this nor `@HttpCode()` says otherwise, for POST as well. */
  status?: number;
  /** `cursors`: has `next`, and no `pagination` if the request has a cursor. */
  list?: boolean | 'cursors';
  /** The payload's fields are also at the top level. */
  topLevelCopy?: boolean;
  /**
   * The errors it may answer with: codes, or statuses for their usual errors. Every endpoint may answer 400, 403, 429,
   * 431, 500, 503.
   */
  errors?: DocumentedError[];
}

/** Extension of an operation; `completeDocument` makes named examples of it. */
export const ERRORS_OF_OPERATION = 'x-errors';

/** Extension of an operation whose reads have an ETag. */
export const HAS_ETAG = 'x-etag';

/** Extension of an operation that belongs to other parts of the document; `completeDocument` adds them there. */
export const DOCUMENT_PARTS = 'x-document-parts';
export type DocumentParts = Partial<OpenAPIObject>;

/** Errors of each endpoint in the envelope: these with usual errors of the status. */
export const USUAL_STATUSES = [400, 403, 429, 500, 503];

/** An error that an endpoint documents: a code, or a status for its usual errors. */
export type DocumentedError = number | ErrorCode;

export const statusOf = (error: DocumentedError): number =>
  typeof error === 'number' ? error : ERRORS[error].status;

/** What an error means, by its status. */
export const DESCRIPTIONS: Record<number, string> = {
  400: 'Invalid request; `details` names the fields',
  401: 'Token or sign-in refused',
  403: 'Access denied, or sent by a web page of an untrusted origin',
  404: 'Not found',
  409: 'Conflicts with the current state',
  413: 'Body larger than 64 KiB',
  415: 'Body that is not JSON',
  422: 'The Idempotency-Key was used for another request',
  429: 'Rate limit exceeded; `Retry-After` has the seconds to wait',
  431: 'Headers larger than 16 KiB',
  500: 'Internal server error',
  503: 'Service unavailable or busy; `Retry-After` has the seconds to wait',
};

/** Documents an error that an endpoint answers with. */
export const ApiFailure = (
  status: number,
  description = DESCRIPTIONS[status] ?? 'Error',
): MethodDecorator & ClassDecorator => ApiResponse({ status, description, type: ErrorResponse });

/**
 * Answers with this status, and documents what an endpoint does, its answers in the envelope, and its errors.
 * `completeDocument` derives examples, headers and descriptions of parameters from these.
 */
export function ApiData(
  model: Type,
  { status: given, list = false, topLevelCopy = false, ...options }: Options = {},
): MethodDecorator {
  return (target, name, method) => {
    // `@HttpCode()` below this decorator has already set one.
    const status =
      given ?? (Reflect.getMetadata(HTTP_CODE_METADATA, method.value!) as number | undefined) ?? 200;
    return applyDecorators(
      HttpCode(status),
      ApiExtraModels(model, Pagination, ErrorResponse),
      ApiResponse({ status, description: 'Success', type: envelopeOf(model, list, topLevelCopy) }),
      // Answers of sign-in hold tokens and nonces, so they have none.
      ApiExtension(HAS_ETAG, !topLevelCopy),
      ApiEndpoint(options, topLevelCopy),
    )(target, name, method);
  };
}

/** Documents what an endpoint does and its errors. Its answers are documented beside this. */
export function ApiEndpoint(
  { summary, description, errors = [] }: Pick<Options, 'summary' | 'description' | 'errors'>,
  isSignIn = false,
): MethodDecorator & ClassDecorator {
  const all: DocumentedError[] = ['validation_failed', ...errors, 'cross_site_request', 429, 500, 503];
  return applyDecorators(
    ...(summary ? [ApiOperation({ summary, description })] : []),
    ...[...new Set(all.map(statusOf))].map((code) => ApiFailure(code)),
    ApiExtension(ERRORS_OF_OPERATION, all),
    ...(errors.map(statusOf).includes(401) && !isSignIn ? [ApiBearerAuth()] : []),
  );
}

const NEXT = {
  type: String,
  nullable: true,
  description: 'Cursor for `after`; null on the last page',
  example: 'ZDJlNmY1ZDAwMWExZmM4Mi1iZDhkLTc1ZjMtODRkYi04YWJjZmEyYzRiYjI',
};

const envelopes = new Map<string, Type>();

/** The class of an answer. Its name becomes the schema's name: PoolItemList, PoolDetailEnvelope. */
function envelopeOf(model: Type, list: boolean | 'cursors', topLevelCopy: boolean): Type {
  const name = `${model.name}${list ? 'List' : 'Envelope'}`;
  const known = envelopes.get(name);
  if (known) return known;
  const Envelope = topLevelCopy ? class extends (model as Type<object>) {} : class {};
  const property = (key: string, options: Parameters<typeof ApiProperty>[0]): void =>
    ApiProperty(options)(Envelope.prototype, key);
  property('success', { type: 'boolean', enum: [true] });
  property('data', { type: list ? [model] : model });
  if (list) property('pagination', { type: Pagination, required: list !== 'cursors' });
  if (list === 'cursors') property('next', NEXT);
  Object.defineProperty(Envelope, 'name', { value: name });
  envelopes.set(name, Envelope);
  return Envelope;
}
