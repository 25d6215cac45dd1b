import fc from 'fast-check';
import {
  type AbiEvent,
  type AbiParameter,
  type Hex,
  decodeEventLog,
  encodeAbiParameters,
  encodeEventTopics,
  parseAbiItem,
} from 'viem';
import { encoded, hex } from '../../../test/support/chain/adapters';
import { readerOf } from './parameters';

const integer = (bits: number, signed: boolean): fc.Arbitrary<bigint | number> => {
  const most = 2n ** BigInt(bits) - 1n;
  const [min, max] = signed ? [-(most >> 1n) - 1n, most >> 1n] : [0n, most];
  const value = fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, 0n, max));
  return bits > 48 ? value : value.map(Number);
};
const VALUES: Record<string, fc.Arbitrary<unknown>> = {
  address: hex(20),
  bool: fc.boolean(),
  string: fc.string(),
  bytes: fc.nat({ max: 80 }).chain(hex),
  'address[]': fc.array(hex(20), { maxLength: 3 }),
  'uint256[2]': fc.tuple(integer(256, false), integer(256, false)),
};
for (const bytes of [1, 4, 16, 31, 32]) VALUES[`bytes${bytes}`] = hex(bytes);
for (const bits of [8, 48, 56, 64, 256])
  for (const signed of [true, false]) VALUES[`${signed ? '' : 'u'}int${bits}`] = integer(bits, signed);
const FIXED = Object.keys(VALUES).filter((type) => !/^string$|^bytes$|\]$/.test(type));

/** An event with parameters of these types, and a log of it, encoded by viem. */
const logs = (types: string[]) =>
  fc.array(fc.tuple(fc.constantFrom(...types), fc.boolean()), { maxLength: 6 }).chain((parameters) => {
    let topics = 0;
    const inputs = parameters.map(([type, wanted], i) => {
      const indexed = wanted && FIXED.includes(type) && topics < 3;
      topics += Number(indexed);
      return { type, indexed, name: ['data', 'topics', 'log', 'constructor'][i] ?? `p${i}` };
    });
    const item: AbiEvent = { type: 'event', name: 'Tried', inputs };
    return fc.tuple(...inputs.map(({ type }) => VALUES[type])).map((values) => {
      const args = Object.fromEntries(inputs.map(({ name }, i) => [name, values[i]]));
      return { item, ...encoded(item, args) };
    });
  });

/** Addresses in lower case. */
const lower = ({ type }: AbiParameter, value: unknown): unknown =>
  type === 'address'
    ? (value as string).toLowerCase()
    : type === 'address[]'
      ? (value as string[]).map((each) => each.toLowerCase())
      : value;

const agree = (types: string[], runs: number): void =>
  fc.assert(
    fc.property(logs(types), ({ item, topics, data }) => {
      const { args } = decodeEventLog({ abi: [item], topics: topics as [Hex], data });
      const values = (args ?? {}) as Record<string, unknown>;
      const found = readerOf(item)({ topics, data })!;
      for (const input of item.inputs) {
        const name = input.name!;
        expect(found[name]).toEqual(lower(input, values[name]));
      }
    }),
    { numRuns: runs },
  );

it('reads a fixed layout as viem does, whatever the types and names', () => agree(FIXED, 1000));

it('reads dynamic types by viem, with addresses in lower case too', () => agree(Object.keys(VALUES), 500));

it('lowers addresses within tuples', () => {
  const item = parseAbiItem('event Shared((address who, uint256 part)[] parts, uint64 seq)');
  const who = `0x${'Ab'.repeat(20)}` as const;
  const data = encodeAbiParameters(item.inputs, [[{ who: who.toLowerCase() as Hex, part: 5n }], 1n]);
  const topics = encodeEventTopics({ abi: [item] }) as Hex[];
  expect(readerOf(item)({ topics, data })).toEqual({
    parts: [{ who: who.toLowerCase(), part: 5n }],
    seq: 1n,
  });
});

it.each(['uint64 seq', 'string text'])('does not read what is cut, with %s', (parameter) => {
  const item = parseAbiItem(`event Cut(address indexed who, ${parameter})`) as AbiEvent;
  const topics = [encodeEventTopics({ abi: [item] })[0], `0x${'0'.repeat(64)}`] as Hex[];
  const read = readerOf(item);
  expect(read({ topics, data: '0x' })).toBeUndefined();
  expect(read({ topics: topics.slice(0, 1), data: `0x${'0'.repeat(128)}` })).toBeUndefined();
});
