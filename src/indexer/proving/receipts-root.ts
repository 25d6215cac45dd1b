import { type Hex, bytesToHex, concatHex, hexToBytes, keccak256, pad, stringToHex, toRlp } from 'viem';
import type { ChainEvent, DecodeLog } from '#indexer/reading/decode';
import { type RawHeader, bytes, quantity } from './header';

/** The part of a log that a receipt's hash covers, and what the node says beside it. */
interface ReceiptLog {
  address: string;
  topics: string[];
  data: string;
}

/** A receipt as a node gives it. */
export interface RawReceipt {
  type?: string;
  status?: string;
  /** Instead of the status, before the hard fork Byzantium. */
  root?: string;
  cumulativeGasUsed: string;
  logsBloom: string;
  logs: ReceiptLog[];
  transactionHash: string;
  transactionIndex: string;
  /** Of deposits on chains of the OP stack. */
  depositNonce?: string;
  depositReceiptVersion?: string;
}

/** The root of a trie without entries: a block without transactions. */
export const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';

const DEPOSIT = 0x7e;

/**
 * As it stands in the trie (EIP-658, EIP-2718). A deposit of the OP stack has its nonce and version there since Canyon;
 * before, it had neither, whatever the node says of its nonce. @throws Error when a field is missing
 */
function encode(receipt: RawReceipt): Hex {
  const { root, status, cumulativeGasUsed, logsBloom, depositNonce, depositReceiptVersion } = receipt;
  const logs = receipt.logs.map(({ address, topics, data }) => [
    bytes(address),
    topics.map((topic) => bytes(topic)),
    bytes(data),
  ]);
  const type = Number(receipt.type ?? 0);
  const isVersioned = type === DEPOSIT && typeof depositReceiptVersion === 'string';
  const payload = toRlp([
    root ? bytes(root) : quantity(status),
    quantity(cumulativeGasUsed),
    bytes(logsBloom),
    logs,
    ...(isVersioned ? [quantity(depositNonce), quantity(depositReceiptVersion)] : []),
  ]);
  return type === 0 ? payload : concatHex([bytesToHex(Uint8Array.of(type)), payload]);
}

/** The root of the trie of a block's receipts, in order. @throws Error when a field is missing */
export async function receiptsRoot(receipts: RawReceipt[]): Promise<string> {
  // Loaded when it is needed: contracts that number their events never do.
  const { createMPT } = await import('@ethereumjs/mpt');
  const trie = await createMPT();
  for (const [i, receipt] of receipts.entries())
    await trie.put(toRlp(quantity(`0x${i.toString(16)}`), 'bytes'), hexToBytes(encode(receipt)));
  return bytesToHex(trie.root());
}

/**
 * Bor's (Polygon) blocks may have a receipt of what came from the other chain, which is in no trie. Its transaction has
 * no hash of its own; it is named by its block.
 */
const outsideHash = ({ number, hash }: RawHeader): string =>
  keccak256(concatHex([stringToHex('matic-bor-receipt-'), pad(quantity(number), { size: 8 }), bytes(hash)]));

/** What is proven of a block, in its order, and the hash of a transaction of which nothing is. */
export interface ProvenReceipts {
  receipts: RawReceipt[];
  outside: string;
}

/**
 * @param header whose fields are those of its hash
 * @param given what a node sent as all receipts of its block
 * @returns undefined when they are not, or are encoded in a way of the chain's own
 */
export async function provenReceipts(header: RawHeader, given: unknown): Promise<ProvenReceipts | undefined> {
  try {
    const outside = outsideHash(header);
    const receipts = (given as RawReceipt[])
      .filter(({ transactionHash }) => transactionHash.toLowerCase() !== outside)
      .sort((a, b) => Number(a.transactionIndex) - Number(b.transactionIndex));
    const isWhole = (await receiptsRoot(receipts)) === String(header.receiptsRoot).toLowerCase();
    return isWhole ? { receipts, outside } : undefined;
  } catch {
    // It is no list of receipts.
    return undefined;
  }
}

/**
 * The events of a contract in a block, by its proven receipts. The index of a log in its block follows from their order;
 * only the hashes of the transactions are what the node says.
 */
export function eventsOf(
  contract: string,
  header: RawHeader,
  { receipts }: ProvenReceipts,
  decode: DecodeLog,
): ChainEvent[] {
  const { number, hash, timestamp } = header as Record<string, string>;
  const logs = receipts.flatMap(({ logs: own, transactionHash }) =>
    own.map((log) => ({ ...log, transactionHash })),
  );
  return logs.flatMap((log, i) => {
    if (log.address.toLowerCase() !== contract) return [];
    const raw = { ...log, blockNumber: number, blockHash: hash, logIndex: `0x${i.toString(16)}` };
    const event = decode(raw, Number(timestamp));
    return typeof event === 'object' ? event : [];
  });
}
