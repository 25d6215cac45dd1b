import { type Call, RetryableChainError, RpcError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { RawHeader } from './header';

/** Not every node has `eth_getBlockReceipts`. */
const WITHOUT_BLOCK_RECEIPTS = new WeakSet<WatchedEndpoint>();
/** A block with more transactions is not asked for one by one. */
const MOST_SINGLE = 500;

const isList = (answer: unknown): answer is object[] =>
  Array.isArray(answer) && answer.every((each) => typeof each === 'object' && each !== null);

/**
 * All receipts of a block, as the endpoint says.
 * @param isWhole by one call, or else one by one
 * @returns undefined when it does not give them so
 */
export async function askReceipts(
  endpoint: WatchedEndpoint,
  header: RawHeader,
  isWhole: boolean,
): Promise<object[] | undefined> {
  const ask = (calls: Call[]): Promise<unknown[]> => endpoint.source.rpc.settled(calls, undefined, 'reading');
  try {
    if (isWhole) {
      if (WITHOUT_BLOCK_RECEIPTS.has(endpoint)) return undefined;
      const [found] = await ask([['eth_getBlockReceipts', [header.number]]]);
      if (found instanceof RpcError) WITHOUT_BLOCK_RECEIPTS.add(endpoint);
      return isList(found) ? found : undefined;
    }
    const { transactions } = header;
    if (!Array.isArray(transactions) || transactions.length > MOST_SINGLE) return undefined;
    const found = await ask(transactions.map((hash) => ['eth_getTransactionReceipt', [hash]]));
    return isList(found) && !found.some((each) => each instanceof RpcError) ? found : undefined;
  } catch (error) {
    if (error instanceof RetryableChainError) return undefined;
    throw error;
  }
}
