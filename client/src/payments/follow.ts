import { type Address, type Hash, type TransactionReceipt, TransactionReceiptNotFoundError } from 'viem';
import { getTransactionReceipt } from 'viem/actions';
import type { ContractCall } from '../types.js';
import { wait } from '../wait.js';
import type { Ground } from './ground.js';
import type { PaymentTrace } from './payment.js';

export interface Followed {
  call: Pick<ContractCall, 'name'>;
  from: Address;
  hash: Hash;
  trace: PaymentTrace;
}

export interface FollowOptions {
  signal?: AbortSignal;
  droppedAfterMs?: number;
  onFound?: (found: { hash?: Hash; trace?: PaymentTrace; attention?: 'account' | 'chain' }) => Promise<void>;
  onReplaced?: (hash: Hash, replaced: Hash) => void;
}

/** Not viem's own wait: it cannot be aborted, and on quiet chains it misses blocks while it looks for replacements. */
export async function follow(
  { reader }: Ground,
  { hash }: Followed,
  { signal }: FollowOptions,
): Promise<TransactionReceipt> {
  for (;;) {
    try {
      return await getTransactionReceipt(reader, { hash });
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
    }
    await wait(reader.pollingInterval, signal);
  }
}
