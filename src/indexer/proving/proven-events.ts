import type { ChainEvent, DecodeLog } from '#indexer/reading/decode';
import type { RawHeader } from './header';
import type { ProvenReceipts } from './receipts-root';

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
