import { type Hex, keccak256 } from 'viem';

const BYTES = 256;

/** The bits that a value sets: three, each by eleven bits of its hash (Yellow Paper, 4.4.1). */
function bitsOf(value: Hex): number[] {
  const hash = keccak256(value, 'bytes');
  return [0, 2, 4].map((i) => ((hash[i] << 8) | hash[i + 1]) % (BYTES * 8));
}

const ADDRESS_BITS = new Map<string, number[]>();
/** The contracts are few, and asked for in each block. */
function bitsOfAddress(address: string): number[] {
  const known = ADDRESS_BITS.get(address) ?? bitsOf(address as Hex);
  ADDRESS_BITS.set(address, known);
  return known;
}

/** Whether a block or transaction with this bloom may have logs of the contract. If not, it has none. */
export function mayHaveLogsOf(address: string, logsBloom: string): boolean {
  const bloom = Buffer.from(logsBloom.slice(2), 'hex');
  return bitsOfAddress(address).every((bit) => bloom[BYTES - 1 - (bit >> 3)] & (1 << (bit & 7)));
}

/** Some chains have no bloom in their headers, though there are logs. */
export const isEmptyBloom = (logsBloom: string): boolean => /^0x0*$/.test(logsBloom);
