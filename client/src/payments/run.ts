import type { Abi, Account, Address, Hash, TransactionReceipt } from 'viem';
import { call as callChain, getBlockNumber, getTransactionCount } from 'viem/actions';
import { ContractError, TransactionRevertedError } from '../errors.js';
import type { ClientConfig, ContractCall } from '../types.js';
import { guarded } from '../observable.js';
import { untilAborted } from '../wait.js';
import { contractErrorOf } from './contract-errors.js';
import { track } from './track.js';
import { type ChainAccess, addressOf, changeChain, payingAccount } from './chain-access.js';
import { type Payment, type PaymentStep, type PaymentTrace, isLastStep } from './payment.js';
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

  /** Follows a transaction that was sent, also one of an earlier visit. */
  async mined(
    call: ContractCall,
    from: Address,
    sent: Hash,
    trace: PaymentTrace,
  ): Promise<TransactionReceipt> {
    const receipt = await track(this, call, from, sent, trace);
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
