import type { Abi, Address, Hash, TransactionReceipt } from 'viem';
import { isAddressEqual } from 'viem';
import { isSavingsError } from '../errors.js';
import { randomKey } from '../random.js';
import type { TokenStore } from '../tokens.js';
import type { Api, ClientConfig, ContractCall } from '../types.js';
import type { Payer } from '../wallet.js';
import { signedInAccount } from './account.js';
import { callsOf } from './calls.js';
import { DepositSubmittedError, PaymentUnknownError } from './errors.js';
import { groundOf } from './ground.js';
import { type Payment, type PaymentRequest, type PaymentStore, isUnderWay } from './payment.js';
import { type Progress, Run, type RunOptions, type SendOptions } from './send.js';

export interface PaymentContext {
  readonly api: Api;
  readonly tokens: TokenStore;
  config(): Promise<ClientConfig>;
}

/** What this account pays: what is under way, and what became of the last ones. */
export class Payments {
  private readonly listeners = new Set<(payments: readonly Payment[]) => void>();
  /** Those that run in this page, and how to stop them. */
  private readonly running = new Map<string, AbortController>();
  private turn: Promise<unknown> = Promise.resolve();
  private knownAbi?: Promise<Abi>;

  constructor(
    private readonly context: PaymentContext,
    private readonly store: PaymentStore,
  ) {}

  /** Of the account that is signed in, newest first. */
  async list(): Promise<readonly Payment[]> {
    const account = await signedInAccount(this.context.tokens);
    const all = await this.store.list();
    return account ? all.filter((each) => isAddressEqual(each.account, account)) : [];
  }

  /**
   * Calls back with the list, now and whenever it changes, in other tabs too.
   * @returns a function that ends it
   */
  subscribe(listener: (payments: readonly Payment[]) => void): () => void {
    this.listeners.add(listener);
    const show = (): void => void this.list().then((list) => this.listeners.has(listener) && listener(list));
    const unwatch = this.store.watch?.(show);
    show();
    return () => {
      this.listeners.delete(listener);
      unwatch?.();
    };
  }

  /** Pays, and keeps what it sent until the service has seen it. Callers use `client.pay` and the like. */
  async start(
    request: PaymentRequest,
    { wallet, ...options }: SendOptions & { wallet: Payer },
  ): Promise<TransactionReceipt[]> {
    const account = await signedInAccount(this.context.tokens);
    const before = await this.ofDeposit(request);
    if (before && (before.hash !== undefined || this.running.has(before.id)) && before.step !== 'approve')
      throw new DepositSubmittedError((request as { transaction: string }).transaction, before.hash);
    if (before) await this.store.remove(before.id);
    const payment = { ...request, id: randomKey(), state: 'checking', startedAt: Date.now() } as const;
    return this.run({ ...payment, account: account ?? ZERO }, { wallet, ...options });
  }

  /**
   * Goes on with a payment of an earlier visit, or of one that was interrupted: follows what was sent, and with a wallet
   * sends what was not.
   * @throws as the payment itself
   */
  async resume(id: string, options: SendOptions & { wallet?: Payer } = {}): Promise<TransactionReceipt[]> {
    const payment = (await this.list()).find((each) => each.id === id);
    if (!payment) throw new PaymentUnknownError(id);
    return this.run(payment, options);
  }

  /**
   * Stops a payment that was not sent yet. If the wallet sends it after all, it goes on in the list.
   * @returns false if it was sent already
   */
  async cancel(id: string): Promise<boolean> {
    const payment = (await this.list()).find((each) => each.id === id);
    if (!payment || !isUnderWay(payment) || payment.hash !== undefined) return false;
    this.running.get(id)?.abort(new DOMException('The payment was cancelled', 'AbortError'));
    await this.put({ ...payment, state: 'cancelled' });
    return true;
  }

  /** Removes a payment from the list. One that is on its way goes on without it. */
  async dismiss(id: string): Promise<void> {
    await this.store.remove(id);
    await this.emit();
  }

  private async run(
    from: Payment,
    { wallet, onChange, signal, ...options }: SendOptions & { wallet?: Payer },
  ): Promise<TransactionReceipt[]> {
    const end = new AbortController();
    signal?.addEventListener('abort', () => end.abort(signal.reason), { once: true });
    this.running.set(from.id, end);
    let payment = from;
    const change = async (changed: Partial<Payment>): Promise<void> => {
      payment = { ...payment, ...changed } as Payment;
      await this.put(payment);
      onChange?.(payment);
    };
    const tell = async (progress: Progress): Promise<void> => {
      await change({ ...progress, ...(progress.hash && { sentAt: payment.sentAt ?? Date.now() }) });
    };
    try {
      const config = await this.context.config();
      const run: RunOptions = {
        ...options,
        signal: end.signal,
        config,
        account: payment.account === ZERO ? undefined : payment.account,
        abi: () => this.abi(),
        tell,
        onLate: tell,
      };
      const receipts = await this.carryOut(payment, run, wallet, config);
      await change({ state: 'done' });
      return receipts;
    } catch (error) {
      await this.failed(payment, error, end.signal, change);
      throw error;
    } finally {
      this.running.delete(from.id);
    }
  }

  private async carryOut(
    payment: Payment,
    options: RunOptions,
    wallet: Payer | undefined,
    config: ClientConfig,
  ): Promise<TransactionReceipt[]> {
    const { hash, trace, step, account } = payment;
    if (hash && trace && step !== 'approve') {
      const run = new Run(groundOf(wallet, trace.chainId, config), options);
      return [await run.mined(callOf(payment, trace), account, hash, trace)];
    }
    const calls = await callsOf(this.context.api, payment, options.signal);
    return new Run(groundOf(wallet, calls[0].chainId, config), options).calls(calls);
  }

  private async failed(
    payment: Payment,
    error: unknown,
    signal: AbortSignal,
    change: (changed: Partial<Payment>) => Promise<void>,
  ): Promise<void> {
    // What was sent stays sent: only the wait for it has ended.
    if (signal.aborted) return payment.hash ? undefined : change({ state: 'cancelled' });
    const code = isSavingsError(error) ? error.code : 'wallet';
    await change({ state: 'failed', failure: { code, message: (error as Error).message } });
  }

  /** The payment of the same deposit that is under way. */
  private async ofDeposit(request: PaymentRequest): Promise<Payment | undefined> {
    if (request.kind !== 'deposit' || request.transaction === undefined) return undefined;
    const { transaction } = request;
    return (await this.list()).find(
      (each) => each.kind === 'deposit' && each.transaction === transaction && isUnderWay(each),
    );
  }

  private abi(): Promise<Abi> {
    this.knownAbi ??= this.context.api
      .GET('/config/abi')
      .then(({ data }) => Object.values(data!.data).flat() as unknown as Abi);
    return this.knownAbi.catch(() => {
      this.knownAbi = undefined;
      return [];
    });
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

const ZERO: Address = '0x0000000000000000000000000000000000000000';

const callOf = (
  { step, kind }: Payment,
  { chainId, to, data }: NonNullable<Payment['trace']>,
): ContractCall => ({ name: step ?? kind, chainId, to, data, value: '0' }) as ContractCall;

export type { Hash };
