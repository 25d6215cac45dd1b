import type { Abi, Account, Address, Hash, TransactionReceipt } from 'viem';
import { call as callChain, getBlockNumber, getTransactionCount } from 'viem/actions';
import {
  ContractError,
  TransactionCancelledError,
  TransactionDroppedError,
  TransactionReplacedError,
  TransactionRevertedError,
  WrongChainError,
} from '../errors.js';
import type { ClientConfig, ContractCall } from '../types.js';
import { guarded } from '../observable.js';
import { untilAborted, wait } from '../wait.js';
import { contractErrorOf } from './contract-errors.js';
import { type ChainAccess, addressOf, changeChain, isContract, payingAccount } from './chain-access.js';
import { type Payment, type PaymentStep, type PaymentTrace, isLastStep } from './payment.js';
import {
  type Found,
  depositOf,
  isSameCall,
  receiptOf,
  sameCallSince,
  transactionOf,
  withNonce,
} from './search.js';
import { isRevert } from './wallet-errors.js';

export interface SendOptions {
  /** Called once a transaction has been sent. */
  onSent?: (call: ContractCall, hash: Hash) => void;
  /** Called when the wallet has sent the same call again with other gas: `hash` takes the place of `replaced`. */
  onReplaced?: (call: ContractCall, hash: Hash, replaced: Hash) => void;
  /** Called once it is on the chain. */
  onMined?: (call: ContractCall, receipt: TransactionReceipt) => void;
  /** Called with each new state of the payment. `sendCalls` keeps no payment, and does not call it. */
  onChange?: (payment: Payment) => void;
  /**
   * After how long a transaction that no node knows counts as dropped: two minutes by default. Half an hour if the node
   * never showed it, because many do not show what is pending.
   */
  droppedAfterMs?: number;
  /** Stops waiting; transactions that were sent stay sent. */
  signal?: AbortSignal;
}

/** What the payment list learns while a payment runs. */
export type Progress = { state: 'checking' | 'wallet' | 'sent' } & Partial<
  Pick<Payment, 'step' | 'hash' | 'cost' | 'attention' | 'trace'>
>;

export interface RunOptions extends SendOptions {
  /** The account that is signed in. */
  account?: Address;
  config?: ClientConfig;
  abi?: () => Promise<Abi>;
  tell?: (progress: Progress) => Promise<void>;
}

/** What the wallet is asked for within a payment, and how its transactions are followed. */
export class Run {
  constructor(
    readonly chain: ChainAccess,
    readonly options: RunOptions,
  ) {}

  /** Checked before each call: a person may change account and chain in the wallet while a payment runs. */
  async account(): Promise<Account | Address> {
    const { wallet, chainId } = this.chain;
    if (!wallet) throw new Error('a payment that is not sent yet needs a wallet');
    await this.within(changeChain(wallet, chainId, this.options.config));
    return this.within(payingAccount(wallet, this.options.account));
  }

  async send(call: ContractCall): Promise<TransactionReceipt> {
    const account = await this.account();
    await this.simulate(call, account);
    const trace = await this.traceOf(call, addressOf(account));
    const step: PaymentStep = call.name;
    const request = (): Promise<Hash> =>
      this.chain.wallet!.sendTransaction({
        account,
        // Checked above; otherwise viem would need a full description of the chain.
        chain: null,
        to: call.to as Address,
        data: call.data as Hash,
        value: BigInt(call.value),
      });
    const hash = await this.ask({ state: 'wallet', step, trace }, request, (sent) => ({ hash: sent }));
    guarded(this.options.onSent)(call, hash);
    return this.mined(call, addressOf(account), hash, trace);
  }

  /**
   * Follows a transaction, also one of an earlier visit, until it is on the chain, by its hash, and by sender and nonce: a
   * wallet that speeds it up sends the same call under another hash. Not viem's own wait: it cannot be aborted, looks for
   * replacements only in the block in which it notices, and takes a cancelled transaction for a mined one.
   * @param attention what the payment says of the wallet so far
   * @throws TransactionCancelledError, TransactionReplacedError, TransactionDroppedError, TransactionRevertedError, or the
   * signal's reason
   */
  async mined(
    call: ContractCall,
    from: Address,
    sent: Hash,
    trace: PaymentTrace,
    attention?: Payment['attention'],
  ): Promise<TransactionReceipt> {
    const tracker = new TransactionTracker(this, call, from, sent, trace, attention);
    let receipt: TransactionReceipt | undefined;
    while (!(receipt = await this.within(tracker.look())))
      await wait(this.chain.reader.pollingInterval, this.options.signal);
    if (receipt.status !== 'success') throw new TransactionRevertedError(call.name, receipt.transactionHash);
    guarded(this.options.onMined)(call, receipt);
    return receipt;
  }

  /**
   * Asks the person by the wallet. If the wait for that is given up, the wallet may still send: then the payment goes
   * on in the list. An approval alone has paid nothing, and nothing follows it then.
   * @param answered what the payment is after the answer
   */
  async ask<T>(
    progress: Progress,
    request: () => Promise<T>,
    answered: (answer: T) => Partial<Progress>,
  ): Promise<T> {
    this.options.signal?.throwIfAborted();
    await this.tell(progress);
    // It may have been cancelled meanwhile, in another tab too.
    this.options.signal?.throwIfAborted();
    const after = (answer: T): Progress => ({ ...progress, state: 'sent', ...answered(answer) });
    const asked = request();
    try {
      const answer = await this.within(asked);
      await this.tell(after(answer));
      return answer;
    } catch (error) {
      if (this.options.signal?.aborted && isLastStep(progress))
        void asked.then((answer) => this.tell(after(answer))).catch(() => undefined);
      throw error;
    }
  }

  /** What a contract would refuse is not offered to the person. A wallet that cannot try leaves it to the chain. */
  async simulate(call: ContractCall, account: Account | Address): Promise<void> {
    try {
      await this.within(
        callChain(this.chain.reader, {
          account,
          to: call.to as Address,
          data: call.data as Hash,
          value: BigInt(call.value),
        }),
      );
    } catch (error) {
      if (this.options.signal?.aborted) throw error;
      const known = contractErrorOf(
        call.name,
        error,
        (await this.options.abi?.().catch(() => undefined)) ?? [],
      );
      if (known) throw known;
      if (isRevert(error)) throw new ContractError(call.name, 'UnknownError', {}, error);
    }
  }

  async tell(progress: Progress): Promise<void> {
    await this.options.tell?.(progress);
  }

  within<T>(promise: Promise<T>): Promise<T> {
    return untilAborted(promise, this.options.signal);
  }

  async traceOf({ chainId, to, data, value }: ContractCall, from: Address): Promise<PaymentTrace> {
    const { reader } = this.chain;
    const [fromBlock, nonce] = await this.within(
      Promise.all([
        getBlockNumber(reader, { cacheTime: 0 }),
        getTransactionCount(reader, { address: from, blockTag: 'latest' }),
      ]),
    );
    const sent = { to: to as Address, data: data as Hash, ...(value !== '0' && { value }) };
    return { chainId, ...sent, fromBlock: `${fromBlock}`, nonce };
  }
}

const DROPPED_AFTER_MS = 120_000;
/** Many nodes do not show what is pending; what one of them never showed gets this much more time. */
const NEVER_SHOWN = 15;

/** How long the client looks for a transaction or batch that no node and no wallet has shown, in milliseconds. */
export const neverShownMs = (droppedAfterMs = DROPPED_AFTER_MS): number => droppedAfterMs * NEVER_SHOWN;

class TransactionTracker {
  private knownAt = Date.now();
  private contractAccount?: boolean;
  /** The account's count of transactions when what took their nonces was last looked at. */
  private lookedAt?: number;

  constructor(
    private readonly run: Run,
    private readonly call: ContractCall,
    private readonly from: Address,
    private hash: Hash,
    private trace: PaymentTrace,
    private attention: Payment['attention'],
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

  private async notice(attention: Payment['attention']): Promise<void> {
    if (attention === this.attention) return;
    this.attention = attention;
    await this.note(this.trace);
  }
}

const isFinal = (error: unknown): boolean =>
  error instanceof TransactionCancelledError ||
  error instanceof TransactionReplacedError ||
  error instanceof TransactionDroppedError;
