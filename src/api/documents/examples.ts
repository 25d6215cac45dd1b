import type { OpenAPIObject, ReferenceObject, SchemaObject } from '@nestjs/swagger';

export type Schema = SchemaObject | ReferenceObject;

export const ID_EXAMPLE = '01a1fc82-bdbe-7705-b6e7-18a25150920b';
export const HASH_EXAMPLE = '0xb96b4e0d5f954b44213631ee2e42bfaaf13999d145640e03b55aaffcad1e5fa8';
const AMOUNT_EXAMPLE = '25000000000000000000';
const ADDRESS = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
const CONTRACT = '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0';

/** For fields whose type does not say what they look like. */
const BY_NAME: Record<string, string | number> = {
  limit: 20,
  chainId: 31_337,
  symbol: 'SAVE',
  decimals: 18,
  nonceLifetimeSeconds: 600,
  tokenLifetimeSeconds: 604_800,
  txHash: HASH_EXAMPLE,
  contract: CONTRACT,
  contractAddress: CONTRACT,
  to: CONTRACT,
  gasUsed: '84213',
  gasPrice: '1000000007',
  l1Fee: '18230941',
  ticketsExact: '1',
  totalTicketsExact: '1',
  ended: 'session',
  nonce: 'w8KpXs2Rb7QeT4vN',
};

const BY_FORMAT: Record<string, unknown> = {
  uuid: ID_EXAMPLE,
  date: '2026-11-21',
  'date-time': '2026-11-21T05:09:49.118Z',
  uri: 'https://example.org/hooks',
};

const BY_TYPE: Record<string, unknown> = { boolean: false, integer: 1, number: 5.25 };

/** Tried in this order; the first one that matches a DTO's pattern is used. */
const BY_PATTERN = [AMOUNT_EXAMPLE, ADDRESS, HASH_EXAMPLE, '0x'];

/**
 * An example for a schema, built from the examples of its fields. A field's example is its own `example` or `default`,
 * else it follows from its enum, name, format, pattern or type.
 * @returns undefined if nothing says what the value looks like
 */
export function exampleOf(schema: Schema, { components }: OpenAPIObject, name = ''): unknown {
  const resolved = resolve(schema, components?.schemas);
  const { properties, items, allOf, type, format, pattern } = resolved;
  const { example, default: preset } = resolved as { example?: unknown; default?: unknown };
  if (example !== undefined) return example;
  const again = (each: Schema, of = name): unknown => exampleOf(each, { components } as OpenAPIObject, of);
  if (allOf) return merge(allOf.map((each) => again(each)));
  if (properties) {
    const fields = Object.entries(properties).map(([key, each]) => [key, again(each, key)]);
    return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
  }
  if (type === 'array') return items ? [again(items, '')].filter((each) => each !== undefined) : undefined;
  if (resolved.enum) return (resolved.enum as unknown[])[0];
  if (preset !== undefined) return preset;
  const named = BY_NAME[name];
  if (typeof named === (type === 'integer' ? 'number' : type)) return named;
  if (format && format in BY_FORMAT) return BY_FORMAT[format];
  if (pattern) return BY_PATTERN.find((each) => new RegExp(pattern).test(each));
  return BY_TYPE[type as string];
}

/** Schemas joined by allOf describe one object, so their examples are merged. */
const merge = (parts: unknown[]): unknown =>
  parts.length === 1 ? parts[0] : (Object.assign({}, ...parts) as unknown);

/** Resolves a reference. A reference with siblings is inside an `allOf`. */
export function resolve(schema: Schema, schemas: Record<string, Schema> = {}): SchemaObject {
  if (!('$ref' in schema)) return schema;
  const target = schemas[schema.$ref.split('/').pop() ?? ''];
  if (!target) throw new Error(`The OpenAPI document lacks ${schema.$ref}.`);
  return resolve(target, schemas);
}
