import type {
  HeaderObject,
  MediaTypeObject,
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  ResponseObject,
  SchemaObject,
} from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { RAW } from '#platform/answers/raw-response';
import { ERRORS, type ErrorCode, type NamedError } from '#platform/errors/error-codes';
import { codeOf } from '#platform/errors/errors';
import {
  DESCRIPTIONS,
  DOCUMENT_PARTS,
  type DocumentParts,
  type DocumentedError,
  ERRORS_OF_OPERATION,
  HAS_ETAG,
  USUAL_STATUSES,
  statusOf,
} from '#platform/openapi/api-docs';
import { HASH_EXAMPLE, ID_EXAMPLE, type Schema, exampleOf } from './examples';

const JSON_TYPE = 'application/json';
const integer = { type: 'integer' } as const;

const HEADERS: Record<string, HeaderObject> = {
  'X-Request-Id': {
    description: 'Id of the request in the logs: the one sent by the client, or a new one',
    required: true,
    schema: { type: 'string' },
    example: '6f0f7c1e-2f0b-4d9e-9a54-9a7c1b1f6a0e',
  },
  ETag: {
    description: 'Version of the response. Sent as `If-None-Match`, it returns 304 while nothing has changed',
    required: true,
    schema: { type: 'string' },
    example: 'W/"Qbd2uFJvVxdWDBLJtn7zmGs1OAs"',
  },
  'Retry-After': { description: 'Seconds to wait', required: true, schema: integer, example: 412 },
  'X-RateLimit-Limit': {
    description: 'Requests in a window, of the limit that is nearest',
    schema: integer,
    example: 100,
  },
  'X-RateLimit-Remaining': {
    description: 'Requests that are left in this window',
    schema: integer,
    example: 97,
  },
  'X-RateLimit-Reset': {
    description: 'Seconds from now until the window ends, not a time of day',
    schema: integer,
    example: 412,
  },
};
const UNCHANGED = 'Unchanged: `If-None-Match` of the request names the `ETag` that 200 would have. No body';
const LIMITED = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

/** Descriptions of path parameters by name. `id` is the id of what the segment before it names. */
const PATH_PARAMETERS: Record<string, { description: string; example: string }> = {
  hash: { description: 'Hash of the chain transaction', example: HASH_EXAMPLE },
};

/**
 * Adds derived parts: headers, the named errors of each status, examples of requests, errors and fields, and
 * descriptions of path parameters. Values that an endpoint states itself stay. Operations share equal errors and path
 * parameters.
 */
export function completeDocument(document: OpenAPIObject): OpenAPIObject {
  const examples: Record<string, { summary: string; value: unknown }> = {};
  const responses: Record<string, ResponseObject> = {};
  const parameters: Record<string, ParameterObject> = {};
  const parts: DocumentParts[] = [];
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item) as [string, OperationObject][]) {
      // Stated even where no token is needed, so that readers know it was not forgotten.
      operation.security ??= [];
      // The parser refuses such headers before a request exists, so any operation may answer so, without X-Request-Id.
      operation.responses['431'] ??= failure(431);
      const isRaw = takeExtension<boolean>(operation, RAW) ?? false;
      if (!isRaw && !(ERRORS_OF_OPERATION in operation)) putInEnvelope(operation);
      nameErrors(path, method, operation, examples);
      parts.push(takeExtension<DocumentParts>(operation, DOCUMENT_PARTS) ?? {});
      const etag = takeExtension<boolean>(operation, HAS_ETAG) && method === 'get';
      if (etag) operation.responses['304'] = { description: UNCHANGED };
      operation.parameters = (operation.parameters as ParameterObject[] | undefined)?.map((parameter) =>
        parameter.in === 'path' ? completed(path, parameter, parameters) : parameter,
      );
      addExample(bodyOf(operation), document);
      for (const [status, response] of Object.entries(operation.responses) as [string, ResponseObject][]) {
        const headers = { ...headersOf(status, response, operation), ...response.headers };
        if (etag && ['200', '304'].includes(status)) headers.ETag = refTo('ETag');
        if (Object.keys(headers).length > 0) response.headers = headers;
        if (Number(status) < 300) continue;
        addExample(response.content?.[JSON_TYPE], document);
        operation.responses[status] = share('responses', nameOf(status, response), response, responses);
      }
    }
  for (const schema of Object.values(document.components?.schemas ?? {})) addFieldExamples(schema, document);
  document.components = {
    ...document.components,
    headers: HEADERS,
    responses: sorted(responses),
    parameters: sorted(parameters),
    examples: sorted(examples),
  };
  for (const { components, webhooks } of parts) {
    Object.assign(document.components.parameters!, components?.parameters);
    if (webhooks) document.webhooks = { ...document.webhooks, ...webhooks };
  }
  return document;
}

/** The response of an error, by its status. */
const failure = (status: number): ResponseObject => ({
  description: DESCRIPTIONS[status],
  content: { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/ErrorResponse' } } },
});

/** An operation that the decorators of @nestjs/swagger document: they know neither envelope nor usual errors. */
function putInEnvelope(operation: OperationObject): void {
  let isEnveloped = false;
  for (const [status, response] of Object.entries(operation.responses) as [string, ResponseObject][]) {
    const content = response.content?.[JSON_TYPE];
    if (!content?.schema || Number(status) >= 300) continue;
    isEnveloped = true;
    content.schema = {
      type: 'object',
      properties: { success: { type: 'boolean', enum: [true] }, data: content.schema },
      required: ['success', 'data'],
    };
  }
  if (!isEnveloped) return;
  const usual = [...USUAL_STATUSES, ...(operation.security!.length > 0 ? [401] : [])];
  for (const status of usual) operation.responses[status] ??= failure(status);
  (operation as unknown as Record<string, boolean>)[HAS_ETAG] = true;
}

const bodyOf = ({ requestBody }: OperationObject): MediaTypeObject | undefined =>
  requestBody && 'content' in requestBody ? requestBody.content[JSON_TYPE] : undefined;

/** Takes out a value that a decorator left for this file only. */
function takeExtension<T>(operation: OperationObject, name: string): T | undefined {
  const extended = operation as unknown as Record<string, T | undefined>;
  const value = extended[name];
  delete extended[name];
  return value;
}

/** Makes each possible error a named example of its status. All operations share the examples. */
function nameErrors(
  path: string,
  method: string,
  operation: OperationObject,
  used: Record<string, unknown>,
): void {
  const listed = takeExtension<DocumentedError[]>(operation, ERRORS_OF_OPERATION);
  const codesOf = (error: DocumentedError): ErrorCode[] =>
    typeof error === 'string'
      ? [error]
      : usualErrors(error, path, bodyOf(operation) !== undefined, method === 'get');
  for (const [key, response] of Object.entries(operation.responses) as [string, ResponseObject][]) {
    const status = Number(key);
    const content = response.content?.[JSON_TYPE];
    if (status < 400 || !content || content.examples) continue;
    const codes = new Set(
      (listed ?? [status]).filter((error) => statusOf(error) === status).flatMap(codesOf),
    );
    if (codes.size === 0) {
      const error = STATUS_CODES[status]!;
      content.example = { success: false, error, message: error, code: codeOf(status) };
    } else
      content.examples = Object.fromEntries(
        [...codes].map((code) => [code, { $ref: `#/components/examples/${code}` }]),
      );
    for (const code of codes) used[code] = { summary: ERRORS[code].summary, value: errorBody(code) };
  }
}

/** The usual errors of a status. */
function usualErrors(status: number, path: string, hasBody: boolean, reads: boolean): ErrorCode[] {
  const usual: Record<number, ErrorCode[]> = {
    400: hasBody ? ['validation_failed', 'invalid_json'] : ['validation_failed'],
    401: ['invalid_token', 'token_expired', 'token_revoked'],
    403: ['forbidden', 'cross_site_request'],
    404: ['not_found'],
    409: ['conflict'],
    413: ['payload_too_large'],
    415: ['unsupported_media_type'],
    422: ['idempotency_key_reused'],
    429: path.startsWith('/auth/') ? ['rate_limited_general', 'rate_limited_auth'] : ['rate_limited_general'],
    500: ['internal_error'],
    503: reads ? ['unavailable'] : ['unavailable', 'outcome_unknown'],
  };
  return usual[status] ?? [];
}

/** The error as the service sends it. */
const errorBody = (code: ErrorCode): Record<string, unknown> => {
  const { error, details }: NamedError = ERRORS[code];
  return { success: false, error, message: error, code, ...(details && { details }) };
};

const sorted = <T>(named: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(named).sort(([a], [b]) => a.localeCompare(b)));

/** The name of a shared response consists of its status and its errors. */
const nameOf = (status: string, { content }: ResponseObject): string =>
  [STATUS_CODES[status]!.replace(/\W/g, ''), ...Object.keys(content?.[JSON_TYPE]?.examples ?? {})].join('_');

/** Adds the value to the shared ones once. Different values with the same name are numbered. */
function share<T>(section: string, base: string, value: T, shared: Record<string, T>): ReferenceObject {
  let name = base;
  for (let n = 2; name in shared && !isDeepStrictEqual(shared[name], value); n++) name = `${base}_${n}`;
  shared[name] = value;
  return { $ref: `#/components/${section}/${name}` };
}

/** Errors that count toward a rate limit have the limit's headers. The overview describes those of other answers. */
function headersOf(
  status: string,
  { content }: ResponseObject,
  { responses }: OperationObject,
): Record<string, ReferenceObject | HeaderObject> {
  if (status === '431' || Number(status) < 300) return {};
  const inProgress: ErrorCode = 'idempotency_in_progress';
  const codes = Object.keys(content?.[JSON_TYPE]?.examples ?? {});
  const waits = ['429', '503'].includes(status);
  const names = ['X-Request-Id', ...(waits ? ['Retry-After'] : [])];
  if ('429' in responses) names.push(...LIMITED);
  const always = Object.fromEntries(names.map((name) => [name, refTo(name)]));
  return codes.includes(inProgress) ? { ...always, 'Retry-After': WHILE_IN_PROGRESS } : always;
}

/** No other error of status 409 has it. */
const WHILE_IN_PROGRESS: HeaderObject = {
  description: 'With `idempotency_in_progress`: seconds to wait',
  schema: integer,
  example: 1,
};
const refTo = (header: string): ReferenceObject => ({ $ref: `#/components/headers/${header}` });

/** Query parameters get no example: pages that fill in the examples would filter by them. */
function completed(
  path: string,
  parameter: ParameterObject,
  shared: Record<string, ParameterObject>,
): ReferenceObject {
  const [, owner = ''] = new RegExp(`([^/{}]+)/\\{${parameter.name}\\}`).exec(path) ?? [];
  const known = PATH_PARAMETERS[parameter.name];
  const of = (owner === 'by-id' ? path.split('/')[1] : owner).replace(/ies$/, 'y').replace(/s$/, '');
  parameter.description ??= known?.description ?? `Id of the ${of}`;
  parameter.example ??= known?.example ?? ID_EXAMPLE;
  return share('parameters', parameter.name === 'id' ? `${of}_id` : parameter.name, parameter, shared);
}

/** Pages compose examples of answers from those of the fields. */
function addFieldExamples({ properties = {} }: Schema & SchemaObject, document: OpenAPIObject): void {
  for (const [name, field] of Object.entries(properties)) {
    if ('$ref' in field || field.enum || field.format) continue;
    if (!['string', 'integer', 'number'].includes(field.type as string)) continue;
    field.example ??= exampleOf(field, document, name);
  }
}

function addExample(content: MediaTypeObject | undefined, document: OpenAPIObject): void {
  if (!content?.schema || content.example !== undefined || content.examples) return;
  content.example = exampleOf(content.schema, document);
}
