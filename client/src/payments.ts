import type { Hash, TransactionReceipt } from 'viem';
import { getTransactionReceipt } from 'viem/actions';
import { TransactionReceiptNotFoundError } from 'viem';
import { TransactionRevertedError, WrongChainError } from './errors.js';
import type { ContractCall } from './types.js';
import { wait } from './wait.js';
import { type Payer, walletClientOf } from './wallet.js';

export interface SendOptions {
  /** Called once a transaction has been sent. */
  onSent?: (call: ContractCall, hash: Hash) => void;
  /** Called once it is on the chain. */
  onMined?: (call: ContractCall, receipt: TransactionReceipt) => void;
  /** Stops waiting; transactions that were sent stay sent. */
  signal?: AbortSignal;
}

/**
 * Sends the service's calls with a wallet, each after the previous one is on the chain.
 * @returns the receipts, in the order of the calls
 * @throws WrongChainError, TransactionRevertedError, the wallet's error, or the signal's reason
 */
export async function sendCalls(
  calls: readonly ContractCall[],
  wallet: Payer,
  { onSent, onMined, signal }: SendOptions = {},
): Promise<TransactionReceipt[]> {
  const client = await walletClientOf(wallet);
  const account = client.account ?? (await client.requestAddresses())[0];
  const receipts: TransactionReceipt[] = [];
  for (const call of calls) {
    signal?.throwIfAborted();
    await changeChain(client, call.chainId);
    const hash = await client.sendTransaction({
      account,
      // Checked above; otherwise viem would need a full description of the chain.
      chain: null,
      to: call.to as Hash,
      data: call.data as Hash,
      value: BigInt(call.value),
    });
    onSent?.(call, hash);
    const receipt = await minedReceipt(client, hash, signal);
    if (receipt.status !== 'success') throw new TransactionRevertedError(call.name, hash);
    onMined?.(call, receipt);
    receipts.push(receipt);
  }
  return receipts;
}

type WalletClient = Awaited<ReturnType<typeof walletClientOf>>;

async function changeChain(client: WalletClient, id: number): Promise<void> {
  const actual = await client.getChainId();
  if (actual === id) return;
  try {
    await client.switchChain({ id });
  } catch (error) {
    throw new WrongChainError(id, actual, error);
  }
  // Some wallets report success before they have switched, or without switching.
  const changed = await client.getChainId();
  if (changed !== id) throw new WrongChainError(id, changed);
}

/** Not viem's own wait: it cannot be aborted, and on quiet chains it misses blocks while it looks for replacements. */
async function minedReceipt(
  client: WalletClient,
  hash: Hash,
  signal?: AbortSignal,
): Promise<TransactionReceipt> {
  for (;;) {
    try {
      return await getTransactionReceipt(client, { hash });
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
    }
    await wait(client.pollingInterval, signal);
  }
}
