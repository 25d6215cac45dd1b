import { type Hex, keccak256, toRlp } from 'viem';

/** A header as a node gives it: hex digits by the names of the JSON-RPC specification. */
export type RawHeader = Record<string, unknown>;

const isHex = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value);

type Field = [name: string, kind: 'bytes' | 'quantity'];
/** In the order in which they are hashed. */
const FIELDS: Field[] = [
  ['parentHash', 'bytes'],
  ['sha3Uncles', 'bytes'],
  ['miner', 'bytes'],
  ['stateRoot', 'bytes'],
  ['transactionsRoot', 'bytes'],
  ['receiptsRoot', 'bytes'],
  ['logsBloom', 'bytes'],
  ['difficulty', 'quantity'],
  ['number', 'quantity'],
  ['gasLimit', 'quantity'],
  ['gasUsed', 'quantity'],
  ['timestamp', 'quantity'],
  ['extraData', 'bytes'],
  ['mixHash', 'bytes'],
  ['nonce', 'bytes'],
];
/** Each hard fork added some: EIP-1559, EIP-4895, EIP-4844, EIP-4788, EIP-7685. */
const LATER_FIELDS: Field[] = [
  ['baseFeePerGas', 'quantity'],
  ['withdrawalsRoot', 'bytes'],
  ['blobGasUsed', 'quantity'],
  ['excessBlobGas', 'quantity'],
  ['parentBeaconBlockRoot', 'bytes'],
  ['requestsHash', 'bytes'],
];

/** In RLP a number has no leading zeros, and 0 no bytes. @throws Error when it is no hex number */
export function quantity(value: unknown): Hex {
  if (!isHex(value)) throw new Error('no number');
  const digits = value.slice(2).replace(/^0+/, '');
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}

/** @throws Error when they are no hex bytes */
export function bytes(value: unknown): Hex {
  if (!isHex(value) || value.length % 2 === 1) throw new Error('no bytes');
  return value;
}

/** The hash of the header that these fields make; undefined where one is missing. Chains with other fields have another. */
export function headerHash(header: RawHeader): string | undefined {
  const later = LATER_FIELDS.filter(([name]) => header[name] !== undefined && header[name] !== null);
  try {
    return keccak256(
      toRlp(
        [...FIELDS, ...later].map(([name, kind]) =>
          kind === 'bytes' ? bytes(header[name]) : quantity(header[name]),
        ),
      ),
    );
  } catch {
    return undefined;
  }
}

/** Whether its fields are those of its hash. */
export const isAuthentic = (header: RawHeader): boolean =>
  typeof header.hash === 'string' && headerHash(header) === header.hash.toLowerCase();

const BLOOM_BYTES = 256;

/** The bits that a value sets: three, each by eleven bits of its hash (Yellow Paper, 4.4.1). */
function bitsOf(value: Hex): number[] {
  const hash = keccak256(value, 'bytes');
  return [0, 2, 4].map((i) => ((hash[i] << 8) | hash[i + 1]) % (BLOOM_BYTES * 8));
}

/** Whether a block or transaction with this bloom may have logs of the contract. If not, it has none. */
export function mayHaveLogsOf(address: string, logsBloom: string): boolean {
  const bloom = Buffer.from(logsBloom.slice(2), 'hex');
  return bitsOf(address as Hex).every((bit) => bloom[BLOOM_BYTES - 1 - (bit >> 3)] & (1 << (bit & 7)));
}

/** Some chains have no bloom in their headers, though there are logs. */
export const isEmptyBloom = (logsBloom: string): boolean => /^0x0*$/.test(logsBloom);
