import type { OpenAPIObject } from '@nestjs/swagger';
import type { ReferenceObject, SchemaObject } from '@nestjs/swagger';
import { byPoolType } from '#values/types';

export type Schema = SchemaObject | ReferenceObject;

export const ID_EXAMPLE = '01a1fc82-bdbe-7705-b6e7-18a25150920b';
export const HASH_EXAMPLE = '0xb96b4e0d5f954b44213631ee2e42bfaaf13999d145640e03b55aaffcad1e5fa8';
const AMOUNT_EXAMPLE = '25000000000000000000';
const ADDRESS = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';

/** For fields whose type does not say what they look like. The same name has the same example everywhere. */
const BY_NAME: Record<string, unknown> = {
  success: true,
  page: 1,
  limit: 20,
  total: 1,
  pages: 1,
  address: ADDRESS,
  from: ADDRESS,
  contractAddress: '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0',
  contract: '0xcf7ed3acca5a467e9e704c703e8d87f634fb0fc9',
  to: '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0',
  winner: ADDRESS,
  members: 1,
  txHash: HASH_EXAMPLE,
  blockNumber: 4_211,
  block: 4_211,
  logIndex: 3,
  chainId: 31_337,
  symbol: 'SAVE',
  decimals: 18,
  domains: ['app.example.org'],
  nonceLifetimeSeconds: 600,
  tokenLifetimeSeconds: 604_800,
  gasUsed: '84213',
  gasPrice: '1000000007',
  l1Fee: '18230941',
  apr: 5.25,
  apy: 5.39,
  averageAPR: 5.25,
  uptime: 86_400,
  poolId: ID_EXAMPLE,
  poolCount: 1,
  activePoolsCount: 1,
  totalPools: 4,
  ...byPoolType(() => 1),
  totalYield: '1312500000000000000',
  claimableYield: '312500000000000000',
  yieldEarned: '1000000000000000000',
  deposited: '30000000000000000000',
  withdrawn: '5000000000000000000',
  earned: '1312500000000000000',
  claimed: '1000000000000000000',
  claimable: '312500000000000000',
  pendingBalance: '0',
  pendingDeposits: '0',
  drawId: 2,
  participants: 3,
  ticketPrice: '1000000000000000000',
  spent: '5000000000000000000',
  prizePool: '35000000000000000000',
  prize: '35000000000000000000',
  tickets: 5,
  ticketsExact: '5',
  totalTickets: 10,
  totalTicketsExact: '10',
  ended: 'session',
  nonce: 'w8KpXs2Rb7QeT4vN',
};

const BY_FORMAT: Record<string, unknown> = {
  uuid: '01a1fc82-bd8d-75f3-84db-8abcfa2c4bb2',
  date: '2026-11-21',
  'date-time': '2026-11-21T05:09:49.118Z',
  uri: 'https://example.org/hooks',
};

/** Tried in this order; the first one that matches a DTO's pattern is used. */
const BY_PATTERN = [AMOUNT_EXAMPLE, ADDRESS, HASH_EXAMPLE, '0x'];

/**
 * An example for a schema, built from the examples of its fields. A field's example is its own `example` or `default`,
 * else it follows from its name, format, pattern or enum.
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
  if (name in BY_NAME && fits(BY_NAME[name], resolved)) return BY_NAME[name];
  if (format && format in BY_FORMAT) return BY_FORMAT[format];
  if (pattern) return BY_PATTERN.find((each) => new RegExp(pattern).test(each));
  return type === 'boolean' ? false : undefined;
}

/** Schemas joined by allOf describe one object, so their examples are merged. */
const merge = (parts: unknown[]): unknown =>
  parts.length === 1 ? parts[0] : (Object.assign({}, ...parts) as unknown);

function fits(value: unknown, { type, pattern }: SchemaObject): boolean {
  if (typeof value === 'number') return type === 'integer' || type === 'number';
  if (typeof value === 'boolean') return type === 'boolean';
  return type === 'string' && (!pattern || new RegExp(pattern).test(String(value)));
}

/** Resolves a reference. A reference with siblings is inside an `allOf`. */
export function resolve(schema: Schema, schemas: Record<string, Schema> = {}): SchemaObject {
  if (!('$ref' in schema)) return schema;
  const target = schemas[schema.$ref.split('/').pop() ?? ''];
  if (!target) throw new Error(`The OpenAPI document lacks ${schema.$ref}.`);
  return resolve(target, schemas);
}
