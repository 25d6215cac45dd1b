import type { Account, Address, TransactionReceipt } from 'viem';
import type { ContractCall } from '../types.js';
import type { Run } from './send.js';

/**
 * Sends the calls as one (EIP-5792), all or none of them.
 * @returns undefined if the wallet cannot
 */
export async function sendBatch(
  _run: Run,
  _account: Account | Address,
  _calls: readonly ContractCall[],
): Promise<TransactionReceipt[] | undefined> {
  return Promise.resolve(undefined);
}
