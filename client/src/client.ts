import createApi from 'openapi-fetch';
import type { TransactionReceipt } from 'viem';
import type { ConnectionState } from './connection.js';
import { type EventOf, type EventsOptions, type Topic, followEvents } from './events.js';
import { Follower } from './live/follower.js';
import type { Observable } from './observable.js';
import { type PaymentCheck, checkPayment } from './payments/check.js';
import type { PaymentRequest } from './payments/kinds.js';
import { type PaymentStore, memoryPayments } from './payments/payment.js';
import { Payments, signedInAccount } from './payments/payments.js';
import type { SendOptions } from './payments/run.js';
import { Account, Lottery, Pools, Transactions, Webhooks } from './resources.js';
import type { paths } from './schema.js';
import type { SessionState } from './session.js';
import { SharedState } from './shared-state.js';
import { type SignInOptions, signIn } from './sign-in.js';
import { type TabTools, browserTabs } from './tabs.js';
import { type TokenStore, memoryTokens } from './tokens.js';
import { DEFAULT_RETRY, type RetryOptions, Transport, errorOf } from './transport.js';
import type * as Types from './types.js';
import { remembered } from './wait.js';
import type { Payer, Signer } from './wallet.js';

export interface ClientOptions {
  /** Address of the service, such as `https://api.example.org`. In a page it may be a path such as `/api`. */
  baseUrl: string;
  /** Where the token is stored: in memory by default. */
  tokens?: TokenStore;
  /** Where payments are kept: in memory by default. `webPayments(localStorage)` keeps them over a reload. */
  payments?: PaymentStore;
  retry?: Partial<RetryOptions>;
  /** Replaces the platform's fetch. */
  fetch?: typeof fetch;
  /** How tabs share their work: by default what the browser offers. `{}`: each tab for itself. */
  tabs?: TabTools;
}

export interface ClientSignInOptions extends SignInOptions {
  /** Asks the wallet to sign in again when the token has expired. */
  renew?: boolean;
}

/** The wallet that pays, and callbacks for progress. */
export interface PayOptions extends SendOptions {
  wallet: Payer;
}

/** A draw as the lists give it. */
export interface DrawToCall {
  drawId: string | number | bigint;
  /** Default: the newest lottery contract. */
  contract?: string;
}

export class SavingsClient {
  /** openapi-fetch over every path, for operations that have no method here. Failures throw a `SavingsError`. */
  readonly api: Types.Api;
  readonly pools: Pools;
  readonly transactions: Transactions;
  readonly lottery: Lottery;
  readonly account: Account;
  readonly webhooks: Webhooks;
  /** What is being paid, in all tabs if the store is theirs. */
  readonly payments: Payments;
  readonly tokens: TokenStore;
  /** Who is signed in, in all tabs that share the store of tokens, and why the last session ended. */
  readonly session: Observable<SessionState>;
  /** Whether the service answers, and whether it wants no requests for now. */
  readonly connection: Observable<ConnectionState>;
  /** Chain, token, contracts and rules. The answer is kept once the service knows its chain. */
  readonly config = remembered(
    async (): Promise<Types.ClientConfig> => (await this.api.GET('/config')).data!.data,
    ({ token }) => token !== null,
  );
  private readonly baseUrl: string;
  private readonly transport: Transport;
  private readonly shared: SharedState;
  private signInAgain?: () => Promise<unknown>;
  private renewal?: Promise<boolean>;

  constructor({
    baseUrl,
    tokens = memoryTokens(),
    payments = memoryPayments(),
    retry,
    fetch: send,
    tabs = browserTabs(),
  }: ClientOptions) {
    // Only pages have a location; elsewhere an address without a host is rejected here.
    const base = (globalThis as { location?: { href: string } }).location?.href;
    this.baseUrl = new URL(baseUrl, base).href.replace(/\/$/, '');
    this.shared = new SharedState(tabs, this.baseUrl, tokens);
    const { session, connection } = this.shared;
    [this.session, this.connection, this.tokens] = [session, connection, session.tokens];
    this.transport = new Transport(
      send ?? ((request) => fetch(request)),
      session,
      connection,
      { ...DEFAULT_RETRY, ...retry },
      (expired) => this.renew(expired),
    );
    this.api = createApi<paths>({ baseUrl: this.baseUrl, fetch: (request) => this.transport.sent(request) });
    this.api.use({
      async onResponse({ response }) {
        if (!response.ok) throw await errorOf(response);
      },
    });
    this.pools = new Pools(this.api);
    this.transactions = new Transactions(this.api, (id) =>
      this.payments.confirmed(id).catch(() => undefined),
    );
    this.lottery = new Lottery(this.api);
    this.account = new Account(this.api);
    this.webhooks = new Webhooks(this.api);
    this.payments = new Payments(this, payments, tabs.locks);
  }

  /** Signs in with a wallet and stores the token for later requests. */
  async signIn(wallet: Signer, { renew, ...options }: ClientSignInOptions = {}): Promise<Types.SignedInUser> {
    const { token, user } = await signIn(this.api, await this.config(), this.baseUrl, wallet, options);
    await this.tokens.set(token);
    const { signal: _, ...again } = options;
    this.signInAgain = renew ? () => this.signIn(wallet, { renew, ...again }) : undefined;
    return user;
  }

  async isSignedIn(): Promise<boolean> {
    return (await this.tokens.get()) !== null;
  }

  /** Ends this session or all of the user's, and deletes the token, even if the service cannot be reached. */
  async signOut({ everywhere = false }: { everywhere?: boolean } = {}): Promise<void> {
    this.signInAgain = undefined;
    try {
      await this.api.POST(everywhere ? '/users/me/logout/all' : '/users/me/logout');
    } finally {
      await this.shared.session.end('signed_out', { everywhere });
    }
  }

  /**
   * Whether a deposit would fail, before anything is created or sent: by the wallet's account and chain, the minimum of
   * service and contract, the tokens, and the ether for gas. The wallet may be asked to change to the chain.
   * @throws SavingsError: `account_mismatch`, `wrong_chain`, `deposit_below_minimum`, `insufficient_tokens`,
   * `insufficient_ether`
   */
  async checkPayment(check: PaymentCheck): Promise<void> {
    return checkPayment(await this.config(), await signedInAccount(this.tokens), check);
  }

  /**
   * Carries out a payment of any kind: asks the service what to send, sends it with the wallet, and waits until it is on
   * the chain. A deposit is not paid twice: `deposit_submitted`.
   */
  async pay(request: PaymentRequest, options: PayOptions): Promise<TransactionReceipt[]>;
  /** @deprecated It is `pay({ kind: 'deposit', pool, depositId }, { wallet })`. */
  async pay(
    pool: string,
    options: PayOptions & { transaction?: string; amount?: string | bigint },
  ): Promise<TransactionReceipt[]>;
  async pay(
    of: PaymentRequest | string,
    { transaction, amount, ...options }: PayOptions & { transaction?: string; amount?: string | bigint },
  ): Promise<TransactionReceipt[]> {
    const isPool = typeof of === 'string';
    const request = isPool ? ({ kind: 'deposit', pool: of, depositId: transaction, amount } as const) : of;
    return this.payments.start(request, options);
  }

  /** @deprecated It is `pay({ kind: 'withdraw', pool, amount }, { wallet })`. */
  withdraw(pool: string, { amount, ...options }: PayOptions & { amount: string | bigint }) {
    return this.pay({ kind: 'withdraw', pool, amount }, options);
  }

  /** @deprecated It is `pay({ kind: 'claimYield', pool }, { wallet })`. */
  claim(pool: string, options: PayOptions) {
    return this.pay({ kind: 'claimYield', pool }, options);
  }

  /** @deprecated It is `pay` with the kinds `startCompounding` and `stopCompounding`. */
  setCompounding(pool: string, { enabled, ...options }: PayOptions & { enabled: boolean }) {
    return this.pay({ kind: enabled ? 'startCompounding' : 'stopCompounding', pool }, options);
  }

  /** @deprecated It is `pay({ kind: 'buyTickets', count }, { wallet })`. */
  buyTickets(count: number | bigint | string, options: PayOptions) {
    return this.pay({ kind: 'buyTickets', count: `${count}` }, options);
  }

  /** @deprecated It is `pay({ kind: 'claimPrize', drawId, contract }, { wallet })`. */
  claimPrize = this.ofDraw('claimPrize');
  /** @deprecated It is `pay({ kind: 'refund', drawId, contract }, { wallet })`. */
  refund = this.ofDraw('refund');
  /** @deprecated It is `pay({ kind: 'completeDraw', drawId, contract }, { wallet })`. */
  completeDraw = this.ofDraw('completeDraw');
  /** @deprecated It is `pay({ kind: 'cancelDraw', drawId, contract }, { wallet })`. */
  cancelDraw = this.ofDraw('cancelDraw');

  /** What a start page shows, in one request, and the place in the stream of events that follows it. */
  start(options?: Types.RequestOptions): Promise<Types.Start> {
    return this.account.start(options);
  }

  /**
   * What `start` gives, kept true by what happens, with one stream of events for all tabs of the account. Needs a
   * session, and ends with it.
   */
  follow(): Follower {
    return new Follower(this.shared, {
      start: (signal) => this.start({ signal }),
      events: (options) => followEvents(this.transport, this.baseUrl, options),
    });
  }

  /**
   * Live events of the caller's pools and money, and of the lottery. Reconnects by itself and continues where it was.
   * After a `reload` event something may be missing: load again what you show. Ends when the loop is left or the signal
   * aborts. Each call is a stream of its own: `follow` shares one with the other tabs.
   */
  events<const Name extends Topic = Topic>(
    options: EventsOptions<Name> = {},
  ): AsyncGenerator<EventOf<Name>, void, undefined> {
    return followEvents(this.transport, this.baseUrl, options);
  }

  /** Signs in once for all requests that found the token expired. */
  private async renew(expired: string): Promise<boolean> {
    if ((await this.tokens.get()) !== expired) return true;
    if (!this.signInAgain) return false;
    this.renewal ??= this.signInAgain()
      .then(() => true)
      .finally(() => (this.renewal = undefined));
    return this.renewal;
  }

  private ofDraw(kind: 'claimPrize' | 'refund' | 'completeDraw' | 'cancelDraw') {
    return ({ drawId, contract }: DrawToCall, options: PayOptions): Promise<TransactionReceipt[]> =>
      this.pay({ kind, drawId: Number(drawId), contract }, options);
  }
}
