import type { Address, Hash, TransactionReceipt } from 'viem';
import { getTransactionCount } from 'viem/actions';
import {
  TransactionCancelledError,
  TransactionDroppedError,
  TransactionReplacedError,
  WrongChainError,
} from '../errors.js';
import type { ContractCall } from '../types.js';
import { guarded } from '../observable.js';
import { wait } from '../wait.js';
import { isContract } from './chain-access.js';
import type { PaymentStep, PaymentTrace } from './payment.js';
import type { Run } from './run.js';
import {
  type Found,
  depositOf,
  isSameCall,
  receiptOf,
  sameCallSince,
  transactionOf,
  withNonce,
} from './search.js';

const DROPPED_AFTER_MS = 120_000;
/** Many nodes do not show what is pending; what one of them never showed gets this much more time. */
const NEVER_SHOWN = 15;

/** How long the client looks for a transaction or batch that no node and no wallet has shown, in milliseconds. */
export const neverShownMs = (droppedAfterMs = DROPPED_AFTER_MS): number => droppedAfterMs * NEVER_SHOWN;

/**
 * Follows a transaction until it is on the chain, by its hash, and by sender and nonce: a wallet that speeds it up sends
 * the same call under another hash. Not viem's own wait: it cannot be aborted, looks for replacements only in the block
 * in which it notices, and takes a cancelled transaction for a mined one.
 * @throws TransactionCancelledError, TransactionReplacedError, TransactionDroppedError, or the signal's reason
 */
export async function track(
  run: Run,
  call: ContractCall,
  from: Address,
  hash: Hash,
  trace: PaymentTrace,
): Promise<TransactionReceipt> {
  const tracker = new TransactionTracker(run, call, from, hash, trace);
  for (;;) {
    const receipt = await run.within(tracker.look());
    if (receipt) return receipt;
    await wait(run.chain.reader.pollingInterval, run.options.signal);
  }
}

class TransactionTracker {
  private knownAt = Date.now();
  private attention: 'account' | 'chain' | undefined;
  private contractAccount?: boolean;
  /** The account's count of transactions when what took their nonces was last looked at. */
  private lookedAt?: number;

  constructor(
    private readonly run: Run,
    private readonly call: ContractCall,
    private readonly from: Address,
    private hash: Hash,
    private trace: PaymentTrace,
  ) {}

  /** Looks once. */
  async look(): Promise<TransactionReceipt | undefined> {
    try {
      const receipt = await receiptOf(this.run.chain.reader, this.hash);
      const attention = receipt ? undefined : this.run.chain.attention(this.from);
      await this.notice(await attention?.catch(() => undefined));
      if (receipt) return receipt;
      await this.lookForOthers();
    } catch (error) {
      // The wallet is on another chain. What was sent goes on without it.
      if (error instanceof WrongChainError) await this.notice('chain');
      // A node that cannot be reached says nothing about the transaction.
      else if (isFinal(error)) throw error;
    }
    return undefined;
  }

  private async lookForOthers(): Promise<void> {
    const { from, run } = this;
    const { reader } = run.chain;
    const known = await transactionOf(reader, this.hash);
    if (known) {
      this.knownAt = Date.now();
      this.lookedAt = undefined;
      if (!this.trace.shown) await this.note({ ...this.trace, nonce: known.nonce, shown: true });
      return;
    }
    this.contractAccount ??= await isContract(reader, from);
    // A relayer sends for such an account, by its own nonces, and the hash may be the wallet's own.
    if (this.contractAccount) return this.goOnWith(await depositOf(reader, from, this.trace));
    const count = await getTransactionCount(reader, { address: from, blockTag: 'latest' });
    const { droppedAfterMs = DROPPED_AFTER_MS } = run.options;
    let patienceMs = this.trace.shown ? droppedAfterMs : neverShownMs(droppedAfterMs);
    if (count > this.trace.nonce && count !== this.lookedAt)
      try {
        if (await this.lookAtNonce()) this.lookedAt = count;
      } catch (error) {
        if (isFinal(error)) throw error;
        // Many nodes cannot look back, and never will: then it is waited for as long as for one that was never shown.
        patienceMs = neverShownMs(droppedAfterMs);
      }
    if (Date.now() - this.knownAt > patienceMs) throw new TransactionDroppedError(this.call.name, this.hash);
  }

  /**
   * The chain has a transaction with the nonce, and it is another one, or this one in the last moment.
   * @returns whether the node showed what it is
   */
  private async lookAtNonce(): Promise<boolean> {
    const { from, call } = this;
    const { reader } = this.run.chain;
    const { nonce, shown } = this.trace;
    if (!shown) {
      // Without its exact nonce only the same call can be distinguished from what was sent before.
      const { found, sawNewest } = await sameCallSince(reader, from, this.trace);
      await this.goOnWith(found);
      return sawNewest;
    }
    const found = await withNonce(reader, from, nonce, BigInt(this.trace.fromBlock));
    if (!found) return false;
    if (found.hash === this.hash) return true;
    if (isSameCall(found, this.trace)) {
      await this.goOnWith(found);
      return true;
    }
    const emptied = found.to?.toLowerCase() === from.toLowerCase() && found.input === '0x';
    const Reason = emptied ? TransactionCancelledError : TransactionReplacedError;
    throw new Reason(call.name, this.hash, found.hash);
  }

  private async goOnWith(found: Pick<Found, 'hash'> | undefined): Promise<void> {
    if (!found || found.hash === this.hash) return;
    const replaced = this.hash;
    this.hash = found.hash;
    this.knownAt = Date.now();
    await this.note(this.trace);
    guarded(this.run.options.onReplaced)(this.call, found.hash, replaced);
  }

  private async note(trace: PaymentTrace): Promise<void> {
    this.trace = trace;
    // A look that was under way when the payment was left; resuming it looks again.
    if (this.run.options.signal?.aborted) return;
    const step = this.call.name as PaymentStep;
    await this.run.tell({ state: 'sent', step, hash: this.hash, trace, attention: this.attention });
  }

  private async notice(attention: 'account' | 'chain' | undefined): Promise<void> {
    if (attention === this.attention) return;
    this.attention = attention;
    await this.note(this.trace);
  }
}

const isFinal = (error: unknown): boolean =>
  error instanceof TransactionCancelledError ||
  error instanceof TransactionReplacedError ||
  error instanceof TransactionDroppedError;
