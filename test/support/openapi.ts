import Ajv, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

type Json = Record<string, unknown>;

export interface Content {
  schema?: Json;
  example?: unknown;
  examples?: Record<string, { value?: unknown; $ref?: string }>;
}

export interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: {
    name: string;
    in: string;
    description?: string;
    example?: unknown;
    schema?: { example?: string; default?: string | number };
  }[];
  requestBody?: { content: Record<string, Content> };
  security?: Json[];
  responses: Record<
    string,
    {
      description: string;
      headers?: Record<string, { $ref?: string }>;
      content?: Record<string, Content>;
    }
  >;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  tags: { name: string; description?: string }[];
  components: {
    schemas: Record<string, Json>;
    headers: Record<string, { required?: boolean }>;
    examples: Record<string, { value: { error: string; code?: string } }>;
  };
}

/** The document with shared responses and parameters written where they are referred to. */
export function readDocument(text: string): OpenApiDocument {
  const document = JSON.parse(text) as OpenApiDocument;
  const shared = document.components as unknown as Record<string, Record<string, object>>;
  const resolved = <T extends object>(value: T & { $ref?: string }): T => {
    const [, section, name] = /^#\/components\/(\w+)\/(.+)$/.exec(value.$ref ?? '') ?? [];
    return section ? (shared[section][name] as T) : value;
  };
  for (const operations of [...Object.values(document.paths), ...Object.values(document.webhooks ?? {})])
    for (const operation of Object.values(operations)) {
      operation.parameters = operation.parameters?.map(resolved);
      for (const [status, response] of Object.entries(operation.responses))
        operation.responses[status] = resolved(response);
    }
  return document;
}

export interface Answer {
  method: string;
  /** As sent, with query, with or without /api. */
  url: string;
  status: number;
  headers: Record<string, unknown>;
  text: string;
}

/** Statuses that a path outside the document may return. */
const UNKNOWN_PATH = [400, 403, 404, 413, 414, 415, 429, 503];
const HTML = /^\/(docs(-json)?(\/|$)|$)/;

/** Checks whether the document describes an answer. */
class DocumentValidator {
  private readonly ajv = new Ajv({
    strict: true,
    allErrors: true,
    strictTypes: false,
    strictRequired: false,
  });
  private readonly compiled = new Map<string, ValidateFunction>();

  constructor(readonly document: OpenApiDocument) {
    addFormats(this.ajv);
    this.ajv.addVocabulary(['components', 'example', 'discriminator']);
    const { schemas } = document.components;
    for (const name of Object.keys(schemas)) schemas[name] = closed(schemas[name], schemas);
  }

  /** @throws Error that tells how the answer differs from the document */
  check(answer: Answer): void {
    const { method, url, status, headers, text } = answer;
    const complain = (what: string): never => {
      throw new Error(`${method} ${url.slice(0, 200)} gave ${status}: ${what}\n${text.slice(0, 2000)}`);
    };
    // A 431 is answered before a request exists, so it has no id, and every other answer has one.
    if ((status === 431) === Boolean(headers['x-request-id'])) complain('X-Request-Id');
    if (status === 204 || method === 'OPTIONS') return;
    const path = pathOf(url);
    if (HTML.test(path)) return;
    const operation = this.find(path, method);
    const documented = operation?.responses[status];
    if (operation && !documented) complain('this status is not in the document');
    if (!operation && !UNKNOWN_PATH.includes(status)) complain('no such operation in the document');
    for (const [name, { $ref }] of Object.entries(documented?.headers ?? {}))
      if ($ref && this.document.components.headers[name].required && !headers[name.toLowerCase()])
        complain(`no ${name}`);
    if (operation && status === 304) return text === '' ? undefined : complain('a body');
    // What its body would be: over a socket Node leaves it out, injected requests show it for some.
    if (method === 'HEAD' && text === '') return;

    const content = documented?.content ?? this.errorContent();
    const type = String(headers['content-type']).split(';')[0];
    const schema = content[type]?.schema;
    if (!schema) return complain(`content type ${type} is not in the document`);
    const { examples } = content[type];
    const { code } = (status >= 400 && examples ? parse(text, complain) : {}) as { code?: string };
    if (code && !(code in examples!)) complain(`the operation does not name the error ${code}`);
    const validate = this.validator(schema);
    if (!validate(type === 'application/json' ? parse(text, complain) : text))
      complain(describeErrors(validate));
  }

  /** The operation of a path. Fixed segments come first, as in the router. */
  find(path: string, method: string): Operation | undefined {
    const segments = path.split('/');
    const fits = (template: string): boolean => {
      const wanted = template.split('/');
      return (
        wanted.length === segments.length &&
        wanted.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]))
      );
    };
    const [template] = Object.keys(this.document.paths)
      .filter(fits)
      .sort((a, b) => a.split('{').length - b.split('{').length);
    return template
      ? this.document.paths[template][method === 'HEAD' ? 'get' : method.toLowerCase()]
      : undefined;
  }

  private errorContent(): Record<string, Content> {
    return { 'application/json': { schema: { $ref: '#/components/schemas/ErrorResponse' } } };
  }

  /** What in a value is not as the schema says, fields that it does not mention too. */
  violations(schema: Json, value: unknown): string | undefined {
    const validate = this.validator(schema);
    return validate(value) ? undefined : describeErrors(validate);
  }

  private validator(schema: Json): ValidateFunction {
    const key = JSON.stringify(schema);
    let validate = this.compiled.get(key);
    if (!validate) {
      const { components } = this.document;
      validate = this.ajv.compile({
        ...closed(schema, components.schemas),
        components: { schemas: components.schemas },
      });
      this.compiled.set(key, validate);
    }
    return validate;
  }
}

/** `body.data.id is missing`, `body.data.more is not in the document`. */
const describeErrors = ({ errors }: ValidateFunction): string =>
  errors!
    .map(({ instancePath, message, params }) => {
      const at = `body${instancePath.replaceAll('/', '.')}`;
      const { missingProperty: missing, additionalProperty: more } = params as Record<string, string>;
      if (missing !== undefined) return `${at}.${missing} is missing`;
      return more === undefined ? `${at} ${message}` : `${at}.${more} is not in the document`;
    })
    .join(', ');

const validators = new Map<string, DocumentValidator>();

/** One for all services with the same document: what it compiles takes half as long as a service takes to start. */
function validatorOf(document: string): DocumentValidator {
  const validator = validators.get(document) ?? new DocumentValidator(readDocument(document));
  validators.set(document, validator);
  return validator;
}

let usual: DocumentValidator | undefined;

/**
 * @param ask asks a service for its document. All that are of the usual modules have the same: one is asked in a process,
 * because to make it takes half of a start
 */
export async function validatorFor(ask: () => Promise<string>, isUsual: boolean): Promise<DocumentValidator> {
  if (!isUsual) return validatorOf(await ask());
  return (usual ??= validatorOf(await ask()));
}

/** Without /api, query and a slash at the end, decoded. A path that cannot be decoded is not in the document. */
function pathOf(url: string): string {
  const path = url
    .replace(/[?#].*$/s, '')
    .replace(/^\/api(?=\/|$)/, '')
    .replace(/(?<=[^/])\/$/, '');
  try {
    return path
      .split('/')
      .map(decodeURIComponent)
      .map((part) => part.replaceAll('/', '%2F'))
      .join('/');
  } catch {
    return '';
  }
}

function parse(text: string, complain: (what: string) => never): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return complain('not JSON');
  }
}

/**
 * The schema with no room for what it does not mention: objects get `additionalProperties: false`, all parts of an
 * `allOf` being one object. A field that the service sends and nobody documented fails the tests this way.
 */
function closed(schema: Json, schemas: Record<string, Json>): Json {
  const { allOf, ...rest } = schema;
  if (Array.isArray(allOf)) {
    const parts = allOf.map((part: Json) => closed(resolve(part, schemas), schemas));
    // A reference, with more said about it.
    if (parts.length === 1) return { ...rest, ...parts[0] };
    return closed(
      {
        ...rest,
        type: 'object',
        properties: Object.assign({}, ...parts.map((part) => part.properties as Json)) as Json,
        required: parts.flatMap((part) => (part.required as string[] | undefined) ?? []),
      },
      schemas,
    );
  }
  const result: Json = { ...rest };
  if (rest.properties) {
    result.properties = Object.fromEntries(
      Object.entries(rest.properties as Record<string, Json>).map(([name, value]) => [
        name,
        closed(value, schemas),
      ]),
    );
    result.additionalProperties = false;
    if (Array.isArray(rest.required)) result.required = [...new Set(rest.required)];
  }
  for (const name of ['anyOf', 'oneOf'])
    if (rest[name]) result[name] = (rest[name] as Json[]).map((part) => closed(part, schemas));
  if (rest.items) result.items = closed(rest.items as Json, schemas);
  return result;
}

function resolve(schema: Json, schemas: Record<string, Json>): Json {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').pop() : undefined;
  return name === undefined ? schema : schemas[name];
}
