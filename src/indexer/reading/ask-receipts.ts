import { isObject } from '#ledger/chain/json-rpc';
import { type Call, RetryableChainError, type Rpc, RpcError } from './rpc';

/** Receipts of blocks with more transactions are not asked for one by one. */
const MOST_SINGLE = 500;

const isList = (answer: unknown): answer is object[] => Array.isArray(answer) && answer.every(isObject);

/**
 * All receipts of a block, according to the endpoint: first by one call, then one by one. An endpoint that leaves some
 * out may still have each of them, and anyone can make a block too large for one answer. Yields nothing if both fail.
 */
export async function* askReceipts(
  rpc: Rpc,
  { number, transactions }: Record<string, unknown>,
  answerMs?: number,
): AsyncGenerator<object[]> {
  const ask = async (calls: Call[]): Promise<unknown[]> => {
    try {
      return await rpc.settled(calls, answerMs && 2 * answerMs, 'reading', answerMs);
    } catch (error) {
      if (!(error instanceof RetryableChainError)) throw error;
      return [undefined];
    }
  };
  if (!rpc.lacksBlockReceipts) {
    const [found] = await ask([['eth_getBlockReceipts', [number]]]);
    if (found instanceof RpcError) rpc.lacksBlockReceipts = found.isUnknownMethod;
    if (isList(found)) yield found;
  }
  if (!Array.isArray(transactions) || transactions.length > MOST_SINGLE) return;
  const found = await ask(transactions.map((hash) => ['eth_getTransactionReceipt', [hash]]));
  if (isList(found)) yield found;
}
