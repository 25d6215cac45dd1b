import { type Abi, type Address, type TransactionReceipt, getAddress, isAddress } from 'viem';
import { DepositSubmittedError, PaymentUnknownError } from '../errors.js';
import { Listeners, type Observable, guarded } from '../observable.js';
import { type TabLocks, exclusively } from '../tabs.js';
import { type TokenStore, claimsOf } from '../tokens.js';
import type { Api, ClientConfig } from '../types.js';
import { randomKey } from '../wait.js';
import type { Payer } from '../wallet.js';
import { abiOf } from './contract-errors.js';
import { changeChain, chainAccess } from './chain-access.js';
import type { PaymentRequest } from './kinds.js';
import {
  type Payment,
  type PaymentStore,
  isLastStep,
  isSent,
  isUnderWay,
  kept,
  lockOf,
  depositIdOf,
} from './payment.js';
import { HashReporter, carryOut, submittedHash, untilSeen } from './payment-run.js';
import { sentHash } from './search.js';
import type { SendOptions } from './run.js';

export interface PaymentContext {
  readonly api: Api;
  readonly tokens: TokenStore;
  readonly session: Observable<unknown>;
  config(): Promise<ClientConfig>;
}

/** A payment that runs in this page, as it is now, and what stops it. */
interface Running {
  payment: Payment;
  /** Whether it was written down as it is now; one that was cancelled before may be gone on with. */
  begun: boolean;
  readonly end: AbortController;
}

export type ResumeOptions = SendOptions & { wallet?: Payer };
const TAKE_BACK_MS = 5_000;

/** What this account pays: what is under way, and what became of the last ones. */
export class Payments implements Observable<readonly Payment[]> {
  /** Payments whose arrival is being polled, so that each is polled only once. */
  private readonly settling = new Set<string>();
  private readonly running = new Map<string, Running>();
  private readonly entries: PaymentList;
  private readonly reporter: HashReporter;
  private readonly abi: () => Promise<Abi>;

  constructor(
    private readonly context: PaymentContext,
    private readonly store: PaymentStore,
    private readonly locks: TabLocks | undefined,
  ) {
    this.reporter = new HashReporter(context.api);
    this.abi = abiOf(context.api);
    this.entries = new PaymentList(store, context.tokens, context.session);
  }

  /** The list as this page knows it: empty until it was read for the first time, by `subscribe` or `list`. */
  get state(): readonly Payment[] {
    return this.entries.state;
  }

  /** Of the account that is signed in, newest first. */
  list(): Promise<readonly Payment[]> {
    return this.entries.list();
  }

  /** Calls back with the list, now and whenever it changes, in other tabs too. Returns a function that ends it. */
  readonly subscribe = (listener: (payments: readonly Payment[]) => void): (() => void) => {
    // Payments of an earlier visit, which ended before they had arrived.
    void this.list().then((list) => {
      for (const each of list)
        if (each.state === 'done' && !each.arrived) void this.settle(each, undefined).catch(() => undefined);
    });
    return this.entries.subscribe(listener);
  };

  /** Pays, and keeps what it sent: an announced deposit until the service has seen it. Behind `client.pay` and the like. */
  async start(
    request: PaymentRequest,
    options: SendOptions & { wallet: Payer },
  ): Promise<TransactionReceipt[]> {
    const account = await signedInAccount(this.context.tokens);
    const fresh = {
      ...kept(request),
      id: randomKey(),
      account,
      state: 'checking',
      startedAt: Date.now(),
    } as const;
    const depositId = depositIdOf(fresh);
    const receipts = await exclusively(this.locks, this.store, lockOf(fresh), async () => {
      if (depositId !== undefined) await this.notSent(depositId, options.wallet);
      return this.run(fresh, options);
    });
    // Nothing else has the lock of a payment without a deposit.
    if (receipts || depositId === undefined) return receipts!;
    const known = await this.entries.paymentOf(depositId);
    const hash = known?.hash ?? (await submittedHash(this.context.api, depositId));
    throw new DepositSubmittedError(depositId, hash);
  }

  /**
   * Goes on with a payment of an earlier visit, or of one that was interrupted: follows what was sent, and with a wallet
   * sends what was not. After a reload, call it for each payment that `isSent`.
   * @throws as the payment itself
   */
  async resume(id: string, options: ResumeOptions = {}): Promise<TransactionReceipt[]> {
    const known = await this.entries.find(id);
    if (!known) throw new PaymentUnknownError(id);
    const receipts = await exclusively(this.locks, this.store, lockOf(known), async () => {
      // Another tab may have gone on with it until now.
      const payment = (await this.entries.find(id)) ?? known;
      return this.run((await this.sentOf(payment, options.wallet)) ?? payment, options);
    });
    if (!receipts) throw new DepositSubmittedError(depositIdOf(known) ?? id, known.hash);
    return receipts;
  }

  /**
   * Stops a payment that was not sent yet, in whichever tab it runs. If the wallet sends it after all, it goes on in the
   * list.
   * @returns false if it was sent already, and cannot be stopped here
   */
  async cancel(id: string): Promise<boolean> {
    let cancelled = false;
    await this.entries.change(id, (stored) => {
      cancelled = stored !== undefined && isUnderWay(stored) && !isSent(stored);
      return cancelled ? { ...stored!, state: 'cancelled' } : undefined;
    });
    if (cancelled) this.running.get(id)?.end.abort(cancellation());
    return cancelled;
  }

  /** Removes a payment from the list. What was sent stays sent, and a deposit is still not paid twice. */
  async dismiss(id: string): Promise<void> {
    const payment = await this.entries.find(id);
    if (!payment) return;
    // The wallet may have sent it, or may do so later: before it is paid again, the chain is looked at.
    const isOpen = depositIdOf(payment) !== undefined && isLastStep(payment) && payment.state !== 'done';
    if (isOpen) await this.entries.change(id, (stored) => stored && { ...stored, dismissed: true });
    else await this.entries.remove(id);
  }

  /** To be called when the service is known to have seen the deposit, as by its event. `resume` finds out by itself. */
  async confirmed(depositId: string): Promise<void> {
    for (const payment of await this.list())
      if (payment.state === 'mined' && depositIdOf(payment) === depositId) await this.after(payment, 'done');
  }

  private async run(
    from: Payment,
    { signal, onChange, ...options }: ResumeOptions,
  ): Promise<TransactionReceipt[]> {
    const end = new AbortController();
    const abort = (): void => end.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    const running: Running = { payment: from, begun: false, end };
    this.running.set(from.id, running);
    const unwatch = this.store.watch?.(() => void this.stopIfCancelled(running));
    try {
      return await carryOut(from, {
        ...options,
        signal: end.signal,
        api: this.context.api,
        config: await this.context.config(),
        abi: this.abi,
        reporter: this.reporter,
        onChange: async (payment) => {
          const counts = !running.begun || isSent(payment) || isOver(payment);
          await this.entries.change(from.id, (stored) => {
            const isCancelled = !counts && stored?.state === 'cancelled';
            if (isCancelled) end.abort(cancellation());
            return isCancelled ? undefined : payment;
          });
          Object.assign(running, { payment, begun: true });
          if (!counts) end.signal.throwIfAborted();
          guarded(onChange)(payment);
          if (payment.state === 'mined' || payment.state === 'done')
            void this.settle(payment, options.wallet).catch(() => undefined);
          // The wallet has sent what was given up.
          if (payment.state === 'sent' && !this.running.has(from.id)) this.goOn(payment, options.wallet);
        },
      });
    } finally {
      signal?.removeEventListener('abort', abort);
      unwatch?.();
      this.running.delete(from.id);
    }
  }

  /** Another tab may have cancelled it. */
  private async stopIfCancelled(running: Running): Promise<void> {
    const stored = await this.entries.find(running.payment.id);
    if (running.begun && stored?.state === 'cancelled' && !isSent(running.payment))
      running.end.abort(cancellation());
  }

  /** @throws DepositSubmittedError if an earlier payment of the deposit was sent, or may have been */
  private async notSent(depositId: string, wallet: Payer): Promise<void> {
    const before = await this.entries.paymentOf(depositId);
    if (before) {
      const sent = await this.sentOf(before, wallet);
      if (sent) throw new DepositSubmittedError(depositId, sent.hash);
      await this.store.remove(before.id);
    }
    await this.reporter.settled(depositId, TAKE_BACK_MS);
  }

  /** The payment with what was sent of it, if anything was: by what it knows, else by what the chain knows. */
  private async sentOf(payment: Payment, wallet: Payer | undefined): Promise<Payment | undefined> {
    const { trace, account } = payment;
    if (!isLastStep(payment) || !trace || !account) return undefined;
    if (isSent(payment)) return payment;
    // The wallet was asked, and the answer was not heard: the page was left meanwhile.
    const config = await this.context.config();
    const { reader, wallet: client } = chainAccess(wallet, trace.chainId, config);
    if (client) await changeChain(client, trace.chainId, config);
    const hash = await sentHash(reader, account, trace, payment);
    if (!hash) return undefined;
    const now = {
      state: 'sent',
      hash,
      sentAt: Date.now(),
      failure: undefined,
      arrived: undefined,
      dismissed: undefined,
    } as const;
    const sent = { ...payment, ...now };
    await this.entries.change(payment.id, () => sent);
    return sent;
  }

  /** If the chain has taken the block back meanwhile, the payment is followed again. */
  private async settle(payment: Payment, wallet: Payer | undefined): Promise<void> {
    const { id, hash, state } = payment;
    const key = [id, hash, state].join();
    if (this.settling.has(key)) return;
    this.settling.add(key);
    try {
      const { api } = this.context;
      const now = (): Promise<Payment | undefined> => this.entries.find(id);
      const next = await untilSeen(payment, { api, wallet, config: await this.context.config(), now });
      if (next) await this.after(payment, next);
      if (next === 'sent') this.goOn(payment, wallet);
    } finally {
      this.settling.delete(key);
    }
  }

  /** Sets the state of a payment that is on the chain, if it is still the same. */
  private after(payment: Payment, state: 'done' | 'sent'): Promise<void> {
    return this.entries.change(payment.id, (stored) =>
      stored?.state === payment.state && stored.hash === payment.hash
        ? { ...stored, state, arrived: state === 'done' || undefined }
        : undefined,
    );
  }

  /** In the place of another payment of the same deposit for which the wallet is asked by now. */
  private goOn(payment: Payment, wallet: Payer | undefined): void {
    for (const { payment: other, end } of this.running.values())
      if (lockOf(other) === lockOf(payment) && !isSent(other))
        end.abort(new DepositSubmittedError(depositIdOf(payment) ?? payment.id, payment.hash));
    this.resume(payment.id, { wallet }).catch(() => undefined);
  }
}

const isOver = ({ state }: Payment): boolean => state === 'done' || state === 'cancelled';
const cancellation = (): DOMException => new DOMException('The payment was cancelled', 'AbortError');

/** The payments of the store, of which those of the account that is signed in are listed. */
class PaymentList {
  private readonly listeners = new Listeners<readonly Payment[]>();
  private turn: Promise<unknown> = Promise.resolve();
  private current: readonly Payment[] = [];

  constructor(
    private readonly store: PaymentStore,
    private readonly tokens: TokenStore,
    private readonly session: Observable<unknown>,
  ) {}

  /** The list as it was last read. The same array as long as nothing is different. */
  get state(): readonly Payment[] {
    return this.current;
  }

  /** Newest first. */
  async list(): Promise<readonly Payment[]> {
    const list = (await this.kept()).filter(({ dismissed }) => !dismissed);
    if (JSON.stringify(list) !== JSON.stringify(this.current)) this.current = list;
    return this.current;
  }

  async find(id: string): Promise<Payment | undefined> {
    return (await this.list()).find((each) => each.id === id);
  }

  /** The account's payment of the deposit that is not done, even if it is listed no more. */
  async paymentOf(depositId: string): Promise<Payment | undefined> {
    return (await this.kept()).find((each) => depositIdOf(each) === depositId && each.state !== 'done');
  }

  subscribe(listener: (payments: readonly Payment[]) => void): () => void {
    let shown: readonly Payment[] | undefined;
    const stop = this.listeners.add((list) => {
      if (list === shown) return;
      shown = list;
      listener(list);
    });
    const look = (): void => void this.emit();
    const stops = [stop, this.store.watch?.(look), this.session.subscribe(look)];
    look();
    return () => stops.forEach((each) => each?.());
  }

  /**
   * Writes what is made of the payment as it is stored by then, so that nothing older takes the place of what was
   * written meanwhile. A payment never fails because it could not be written down.
   * @param make undefined leaves it as it is
   */
  async change(id: string, make: (stored: Payment | undefined) => Payment | undefined): Promise<void> {
    let changed = false;
    const write = async (): Promise<void> => {
      const made = make((await this.all()).find((each) => each.id === id));
      if (!made) return;
      await this.store.put(made);
      changed = true;
    };
    this.turn = this.turn.then(write).catch(() => undefined);
    await this.turn;
    // A listener may answer each call with one of `confirmed`: with nothing new, the two would never end.
    if (changed) await this.emit();
  }

  async remove(id: string): Promise<void> {
    await this.store.remove(id);
    await this.emit();
  }

  private async kept(): Promise<readonly Payment[]> {
    const account = await signedInAccount(this.tokens);
    return (await this.all()).filter((each) => each.account?.toLowerCase() === account?.toLowerCase());
  }

  private async all(): Promise<readonly Payment[]> {
    return Promise.resolve(this.store.list()).catch(() => []);
  }

  private async emit(): Promise<void> {
    this.listeners.call(await this.list());
  }
}

/** The account that is signed in: the claim `address` of the token. undefined without a token that says so. */
export async function signedInAccount(tokens: TokenStore): Promise<Address | undefined> {
  const { address } = claimsOf((await tokens.get()) ?? '');
  return typeof address === 'string' && isAddress(address, { strict: false })
    ? getAddress(address)
    : undefined;
}
