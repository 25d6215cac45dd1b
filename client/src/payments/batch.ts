import type { Account, Address, Chain, Hash, Hex, TransactionReceipt } from 'viem';
import { getCapabilities, getTransactionReceipt, sendCalls } from 'viem/actions';
import { TransactionDroppedError, TransactionRevertedError } from '../errors.js';
import { guarded } from '../observable.js';
import type { ContractCall } from '../types.js';
import { wait } from '../wait.js';
import type { PaymentTrace } from './payment.js';
import { depositOf } from './search.js';
import { type Run, neverShownMs } from './run.js';
import { isRejection, isUnknownBatch, refusesBatch } from './wallet-errors.js';

/** The part of EIP-5792 that is used. Not viem's: it throws for receipts that lack what is not needed here. */
interface CallsStatus {
  /** 1xx: on its way, 2xx: on the chain, 4xx: will never be there, 5xx and 6xx: reverted. */
  status: number;
  receipts?: { transactionHash: Hash }[];
}

/**
 * Sends the calls as one (EIP-5792), all or none of them.
 * @returns undefined if the wallet cannot, or the person does not want it to
 */
export async function sendBatch(
  run: Run,
  account: Account | Address,
  calls: readonly ContractCall[],
): Promise<TransactionReceipt[] | undefined> {
  if (typeof account !== 'string' || !(await run.within(canBatch(run, account)))) return undefined;
  const final = calls[calls.length - 1];
  const trace = await run.traceOf(final, account);
  try {
    const { id } = await run.ask(
      { state: 'wallet', step: 'batch', trace },
      () =>
        sendCalls(run.chain.wallet!, {
          account,
          // viem takes only its number.
          chain: { id: final.chainId } as Chain,
          forceAtomic: true,
          calls: calls.map(({ to, data, value }) => ({
            ...{ to: to as Address, data: data as Hex, value: BigInt(value) },
          })),
        }),
      (sent) => ({ trace: { ...trace, batch: sent.id } }),
    );
    return await followBatch(run, final, { ...trace, batch: id });
  } catch (error) {
    if (run.options.signal?.aborted || isRejection(error) || !refusesBatch(error)) throw error;
    return undefined;
  }
}

/**
 * Waits until the calls are on the chain. Without the wallet, which alone knows them by their id, the contract's event
 * tells.
 */
export async function followBatch(
  run: Run,
  call: ContractCall,
  trace: PaymentTrace,
): Promise<TransactionReceipt[]> {
  const { reader } = run.chain;
  let announced: Hash | undefined;
  let knownAt = Date.now();
  for (;;) {
    const found = await run.within(batchHashes(run, call, trace));
    if (found !== 'unknown') knownAt = Date.now();
    // A wallet that forgets its batches also forgets those that are still on their way.
    else if (Date.now() - knownAt > neverShownMs(run.options.droppedAfterMs))
      throw new TransactionDroppedError(call.name, trace.batch as Hash);
    const hashes = found === 'unknown' ? undefined : found;
    if (hashes) {
      const hash = hashes[hashes.length - 1];
      if (hash !== announced) {
        await run.tell({ state: 'sent', step: 'batch', hash, trace });
        guarded(run.options.onSent)(call, hash);
      }
      announced = hash;
      const receipts = await run.within(
        Promise.all(hashes.map((hash) => getTransactionReceipt(reader, { hash }))).catch(() => undefined),
      );
      const last = receipts?.[receipts.length - 1];
      if (last) guarded(run.options.onMined)(call, last);
      if (receipts) return receipts;
    }
    await wait(reader.pollingInterval, run.options.signal);
  }
}

/** @returns `unknown` if neither the wallet nor the chain has the batch, undefined while it is on its way */
async function batchHashes(
  run: Run,
  call: ContractCall,
  trace: PaymentTrace,
): Promise<Hash[] | 'unknown' | undefined> {
  const { wallet, reader } = run.chain;
  const { account } = run.options;
  const byEvent = async (): Promise<Hash[] | undefined> => {
    const found = account && (await depositOf(reader, account, trace));
    return found && [found.hash];
  };
  // A node that cannot be reached says nothing.
  if (!wallet) return byEvent().catch(() => undefined);
  const asked = { method: 'wallet_getCallsStatus', params: [trace.batch] };
  const { request } = wallet as { request: (of: object, options: object) => Promise<unknown> };
  // Only an answer ends it: a wallet that cannot be reached says nothing.
  const answer = await request(asked, { retryCount: 0 }).catch((error: unknown) =>
    isUnknownBatch(error) ? undefined : { status: 100 },
  );
  // Wallets forget, and another one never knew.
  if (!answer) return (await byEvent().catch(() => undefined)) ?? 'unknown';
  const { status, receipts = [] } = answer as CallsStatus;
  const hashes = receipts.map(({ transactionHash }) => transactionHash);
  if (status >= 500) throw new TransactionRevertedError(call.name, hashes[0]);
  if (status >= 400) throw new TransactionDroppedError(call.name, trace.batch as Hash);
  return status >= 200 && hashes.length > 0 ? hashes : undefined;
}

async function canBatch({ chain: { wallet, chainId } }: Run, account: Address): Promise<boolean> {
  const all = await getCapabilities(wallet!, { account }).catch(() => undefined);
  const { status } = all?.[chainId]?.atomic ?? all?.[0]?.atomic ?? {};
  // `ready`: the wallet asks the person whether it may become able to.
  return status === 'supported' || status === 'ready';
}
