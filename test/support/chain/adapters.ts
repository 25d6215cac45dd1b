import fc from 'fast-check';
import { type AbiEvent, type Hex, encodeAbiParameters, encodeEventTopics } from 'viem';
import { ReferencePool } from '#ledger/adapters/reference/reference-pool';
import { adapterOf } from '#indexer/adapters/adapter';
import { decoderOf } from '#indexer/adapters/decoder';
import type { DecodeLog } from '#indexer/reading/decode';

/** How the indexer reads contracts that have this adapter, the reference contracts' unless another is given. */
export function decoderFor(contracts: readonly string[], adapter: object = new ReferencePool()): DecodeLog {
  const adapted = adapterOf(adapter)!;
  return decoderOf(new Map(contracts.map((contract) => [contract, adapted])));
}

const FIELDS = [
  ...([
    'poolId',
    'poolName',
    'ref',
    'drawId',
    'account',
    'amount',
    'fee',
    'remaining',
    'aprBps',
    'drawTime',
  ] as const),
  ...(['circleId', 'collateral', 'shares', 'period', 'place'] as const),
];
/** Of an event that says nothing. */
export const NO_FIELDS = Object.fromEntries(FIELDS.map((name) => [name, null])) as Record<
  (typeof FIELDS)[number],
  null
>;

/** Topics and data of an event with these arguments, encoded by viem. */
export function encoded(item: AbiEvent, args: Record<string, unknown>): { topics: Hex[]; data: Hex } {
  const plain = item.inputs.filter(({ indexed }) => !indexed);
  const values = plain.map(({ name }) => args[name!]);
  const topics = encodeEventTopics({ abi: [item], args } as never) as Hex[];
  return { topics, data: encodeAbiParameters(plain, values) };
}

export const hex = (bytes: number): fc.Arbitrary<Hex> =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((array) => `0x${Buffer.from(array).toString('hex')}` as const);
