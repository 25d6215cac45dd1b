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
 * All receipts of a block, as the endpoint says: by one call, and then one by one, since an endpoint that leaves out some
 * may have each of them. Nothing where it does not give them.
 */
export async function* askReceipts(endpoint: WatchedEndpoint, header: RawHeader): AsyncGenerator<object[]> {
  const ask = (calls: Call[]): Promise<unknown[]> => endpoint.source.rpc.settled(calls, undefined, 'reading');
  try {
    let isRefused = false;
    if (!WITHOUT_BLOCK_RECEIPTS.has(endpoint)) {
      const [found] = await ask([['eth_getBlockReceipts', [header.number]]]);
      isRefused = found instanceof RpcError;
      if (isList(found) && !isRefused) yield found;
    }
    const { transactions } = header;
    if (!Array.isArray(transactions) || transactions.length > MOST_SINGLE) return;
    const found = await ask(transactions.map((hash) => ['eth_getTransactionReceipt', [hash]]));
    if (!isList(found) || found.some((each) => each instanceof RpcError)) return;
    if (isRefused) WITHOUT_BLOCK_RECEIPTS.add(endpoint);
    yield found;
  } catch (error) {
    if (!(error instanceof RetryableChainError)) throw error;
  }
}
