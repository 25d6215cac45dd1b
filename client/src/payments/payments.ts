import type { Abi, TransactionReceipt } from 'viem';
import { getTransactionReceipt } from 'viem/actions';
import { randomKey } from '../random.js';
import type { TokenStore } from '../tokens.js';
import type { Api, ClientConfig } from '../types.js';
import { backoff, rest } from '../wait.js';
import type { Payer } from '../wallet.js';
import { signedInAccount } from './account.js';
import { abiOf } from './contract-errors.js';
import { DepositSubmittedError, PaymentUnknownError } from './errors.js';
import { changeChain, groundOf } from './ground.js';
import { exclusively, heldBy } from './lock.js';
import {
  type Payment,
  type PaymentRequest,
  type PaymentStore,
  isLastStep,
  isSent,
  isUnderWay,
  lockOf,
  transactionOf,
} from './payment.js';
import { carryOut, submittedHash } from './payment-run.js';
import { depositOf, hasSucceeded, sameCallSince } from './search.js';
import type { SendOptions } from './send.js';
import { Teller } from './teller.js';

export interface PaymentContext {
  readonly api: Api;
  readonly tokens: TokenStore;
  config(): Promise<ClientConfig>;
}

export type ResumeOptions = SendOptions & { wallet?: Payer };
const TAKE_BACK_MS = 5_000;
const SETTLING = { attempts: 12, firstMs: 4_000, mostMs: 60_000 };

/** What this account pays: what is under way, and what became of the last ones. */
export class Payments {
  private readonly listeners = new Set<(payments: readonly Payment[]) => void>();
  /** Those that run in this page, and how to stop them. */
  private readonly running = new Map<string, AbortController>();
  private readonly held: Set<string>;
  private readonly teller: Teller;
  private turn: Promise<unknown> = Promise.resolve();
  private readonly abi: () => Promise<Abi>;

  constructor(
    private readonly context: PaymentContext,
    private readonly store: PaymentStore,
  ) {
    this.teller = new Teller(context.api);
    this.abi = abiOf(context.api);
    this.held = heldBy(store);
  }

  /** Of the account that is signed in, newest first. */
  async list(): Promise<readonly Payment[]> {
    const account = await signedInAccount(this.context.tokens);
    const all = await Promise.resolve(this.store.list()).catch(() => []);
    return all.filter((each) => each.account?.toLowerCase() === account?.toLowerCase());
  }

  /**
   * Calls back with the list, now and whenever it changes, in other tabs too.
   * @returns a function that ends it
   */
  subscribe(listener: (payments: readonly Payment[]) => void): () => void {
    this.listeners.add(listener);
    const show = (): void =>
      void this.list().then((list) => {
        if (this.listeners.has(listener)) listener(list);
      });
    const unwatch = this.store.watch?.(show);
    show();
    return () => {
      this.listeners.delete(listener);
      unwatch?.();
    };
  }

  /** Pays, and keeps what it sent until the service has seen it. Behind `client.pay` and the like. */
  async start(
    request: PaymentRequest,
    options: SendOptions & { wallet: Payer },
  ): Promise<TransactionReceipt[]> {
    const account = await signedInAccount(this.context.tokens);
    const fresh = { ...request, id: randomKey(), account, state: 'checking', startedAt: Date.now() } as const;
    if (request.kind !== 'deposit' || request.transaction === undefined) return this.run(fresh, options);
    const { transaction } = request;
    const before = (await this.list()).find(
      (each) => each.kind === 'deposit' && each.transaction === transaction && each.state !== 'done',
    );
    const receipts = await exclusively(this.held, lockOf(fresh), async () => {
      if (before) {
        const sent = await this.sentOf(before, options.wallet);
        if (sent) throw new DepositSubmittedError(transaction, sent.hash);
        await this.store.remove(before.id);
      }
      await this.teller.settled(transaction, TAKE_BACK_MS);
      return this.run(fresh, options);
    });
    if (!receipts)
      throw new DepositSubmittedError(
        transaction,
        before?.hash ?? (await submittedHash(this.context.api, transaction)),
      );
    return receipts;
  }

  /**
   * Goes on with a payment of an earlier visit, or of one that was interrupted: follows what was sent, and with a wallet
   * sends what was not. After a reload, call it for each payment that has a `hash`.
   * @throws as the payment itself
   */
  async resume(id: string, options: ResumeOptions = {}): Promise<TransactionReceipt[]> {
    const payment = await this.find(id);
    if (!payment) throw new PaymentUnknownError(id);
    const receipts = await exclusively(this.held, lockOf(payment), async () =>
      this.run((await this.sentOf(payment, options.wallet)) ?? payment, options),
    );
    if (!receipts) throw new DepositSubmittedError(transactionOf(payment) ?? id, payment.hash);
    return receipts;
  }

  /**
   * Stops a payment that was not sent yet. If the wallet sends it after all, it goes on in the list.
   * @returns false if it was sent already, and cannot be stopped here
   */
  async cancel(id: string): Promise<boolean> {
    const payment = await this.find(id);
    if (!payment || !isUnderWay(payment) || isSent(payment)) return false;
    await this.put({ ...payment, state: 'cancelled' });
    this.running.get(id)?.abort(new DOMException('The payment was cancelled', 'AbortError'));
    return true;
  }

  /** Removes a payment from the list. What was sent stays sent. */
  async dismiss(id: string): Promise<void> {
    await this.store.remove(id);
    await this.emit();
  }

  /** To be called when the service is known to have seen the deposit, as by its event. `resume` finds out by itself. */
  async confirmed(transaction: string): Promise<void> {
    for (const payment of await this.list())
      if (payment.state === 'mined' && transactionOf(payment) === transaction)
        await this.put({ ...payment, state: 'done' });
  }

  private async run(
    from: Payment,
    { signal, onChange, ...options }: ResumeOptions,
  ): Promise<TransactionReceipt[]> {
    const end = new AbortController();
    const abort = (): void => end.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    this.running.set(from.id, end);
    try {
      return await carryOut(from, {
        ...options,
        signal: end.signal,
        api: this.context.api,
        config: await this.context.config(),
        abi: this.abi,
        teller: this.teller,
        onChange: async (payment) => {
          await this.put(payment);
          onChange?.(payment);
          if (payment.state === 'mined') void this.settle(payment, options.wallet);
          // The wallet has sent what was given up.
          if (payment.state === 'sent' && !this.running.has(from.id)) this.goOn(from.id, options.wallet);
        },
        whileListed: async (change) => {
          const payment = await this.find(from.id);
          if (payment) await this.put({ ...payment, ...change } as Payment);
        },
      });
    } finally {
      signal?.removeEventListener('abort', abort);
      this.running.delete(from.id);
    }
  }

  /** The payment with what was sent of it, if anything was: by what it knows, else by what the chain knows. */
  private async sentOf(payment: Payment, wallet: Payer | undefined): Promise<Payment | undefined> {
    const { trace, account } = payment;
    if (!isLastStep(payment) || !trace || !account) return undefined;
    if (isSent(payment)) return payment;
    // The wallet was asked, and the answer was not heard: the page was left meanwhile.
    const config = await this.context.config();
    const { reader, wallet: client } = groundOf(wallet, trace.chainId, config);
    if (client) await changeChain(client, trace.chainId, config);
    const hash =
      (await depositOf(reader, account, trace))?.hash ??
      payment.hash ??
      (await sameCallSince(reader, account, trace))?.hash;
    // What was reverted has paid nothing.
    if (!hash || !(await hasSucceeded(reader, hash))) return undefined;
    const sent = { ...payment, state: 'sent', hash, sentAt: Date.now() } as const;
    await this.put(sent);
    return sent;
  }

  /**
   * Until the service has seen the payment. If the chain has taken the block back meanwhile, the payment is followed
   * again.
   */
  private async settle({ id, hash, trace }: Payment, wallet: Payer | undefined): Promise<void> {
    const { attempts, firstMs, mostMs } = SETTLING;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      await rest(backoff(attempt, firstMs, mostMs));
      const payment = await this.find(id);
      if (payment?.state !== 'mined' || payment.hash !== hash) return;
      try {
        const params = { path: { id: transactionOf(payment)! } };
        const { data } = await this.context.api.GET('/transactions/by-id/{id}', { params });
        if (data!.data.status !== 'PENDING') return await this.put({ ...payment, state: 'done' });
        const { reader } = groundOf(wallet, trace!.chainId, await this.context.config());
        await getTransactionReceipt(reader, { hash: hash! });
      } catch (error) {
        if ((error as Error).name !== 'TransactionReceiptNotFoundError') continue;
        await this.put({ ...payment, state: 'sent' });
        return this.goOn(id, wallet);
      }
    }
  }

  private goOn(id: string, wallet: Payer | undefined): void {
    this.resume(id, { wallet }).catch(() => undefined);
  }

  private async find(id: string): Promise<Payment | undefined> {
    return (await this.list()).find((each) => each.id === id);
  }

  /** A payment never fails because it could not be written down. */
  private async put(payment: Payment): Promise<void> {
    this.turn = this.turn.then(() => this.store.put(payment)).catch(() => undefined);
    await this.turn;
    await this.emit();
  }

  private async emit(): Promise<void> {
    if (this.listeners.size === 0) return;
    const list = await this.list();
    for (const listener of this.listeners) listener(list);
  }
}
