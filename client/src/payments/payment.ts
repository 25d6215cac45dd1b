import type { Address, Hash } from 'viem';
import type { WebStorage } from '../tokens.js';
import type { PaymentKind, PaymentRequest } from './kinds.js';

/** A request as it is kept: in JSON there are no `bigint`s. */
type Kept<Request> = Request extends unknown
  ? { readonly [Field in keyof Request]: Exclude<Request[Field], bigint> }
  : never;

/** @returns the request with a deposit by both its names: tabs of version 1 look for the older one */
export function kept(request: PaymentRequest): Kept<PaymentRequest> {
  const { depositId, transaction } = request as { depositId?: string; transaction?: string };
  const id = depositId ?? transaction;
  const fields = Object.entries<unknown>({
    ...request,
    ...(id !== undefined && { depositId: id, transaction: id }),
  });
  const asText = (value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value);
  return Object.fromEntries(
    fields.map(([field, value]) => [field, asText(value)]),
  ) as unknown as Kept<PaymentRequest>;
}

/**
 * - `checking`: account, chain, balance and allowance are looked at; nothing was asked of the person.
 * - `wallet`: the wallet asks the person to confirm `step`.
 * - `sent`: the transaction `hash` of `step` is on its way.
 * - `mined`: a deposit that was announced is on the chain, and the service has not seen it yet.
 * - `done`: it is on the chain. The service has seen announced deposits by then, other payments once they `arrived`.
 * - `failed`: like `done`, it stays in the list until it is dismissed or pushed out by newer ones.
 * - `cancelled`: by the person, before it was sent. If the wallet sends it after all, it becomes `sent`.
 */
export type PaymentState = 'checking' | 'wallet' | 'sent' | 'mined' | 'done' | 'failed' | 'cancelled';

/** What a wallet is asked for: a call by its name, a signature, or several calls as one (EIP-5792). */
export type PaymentStep = PaymentKind | 'approve' | 'permit' | 'batch';

export type Payment = Kept<PaymentRequest> & {
  readonly id: string;
  /** The account that is signed in, and pays. */
  readonly account?: Address;
  readonly state: PaymentState;
  readonly step?: PaymentStep;
  /** Of the newest transaction. */
  readonly hash?: Hash;
  /** What it takes from the account, in smallest units, once the service has said so. */
  readonly cost?: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** When `hash` was sent; since then it is on its way. */
  readonly sentAt?: number;
  /** The transaction's block, once it is on the chain. */
  readonly block?: number;
  /** The service has applied `block`, and so this payment. A reorganisation may revert it until it is final. */
  readonly arrived?: true;
  /** Something in the wallet has to be changed back: its account, or its chain. */
  readonly attention?: 'account' | 'chain';
  /** Of a failed payment: `code` as of a `SavingsError`, or `wallet` for an error of the wallet. */
  readonly failure?: { readonly code: string; readonly message: string };
  /** @deprecated No longer written: each visit reports the hash to the service. */
  readonly told?: Hash;
  /** Not listed any more, and kept so that the deposit is not paid twice. */
  readonly dismissed?: true;
  /** What finds a transaction again. */
  readonly trace?: PaymentTrace;
};

export interface PaymentTrace {
  readonly chainId: number;
  readonly to: Address;
  readonly data: `0x${string}`;
  /** In wei, if any. */
  readonly value?: string;
  /** No transaction of the payment is in an earlier block. */
  readonly fromBlock: string;
  /** The transaction's, if a node has `shown` it, else the smallest it can have. */
  readonly nonce: number;
  readonly shown?: boolean;
  /** A batch's id (EIP-5792). */
  readonly batch?: string;
}

/** Keeps payments between visits, so that nobody pays twice because of a reload. */
export interface PaymentStore {
  /** Newest first. */
  list(): readonly Payment[] | Promise<readonly Payment[]>;
  /** Adds the payment, or replaces the one with its id. */
  put(payment: Payment): void | Promise<void>;
  remove(id: string): void | Promise<void>;
  /** Calls back when another tab has changed the store. Returns a function that stops it. */
  watch?(changed: () => void): () => void;
}

/** The store's size is bounded: of more payments, those that ended go first, then the oldest. */
export const MOST_PAYMENTS = 50;

/** Whether the newest transaction, or the one that the wallet is asked for, is the payment itself. */
export const isLastStep = ({ step }: Pick<Payment, 'step'>): boolean =>
  step !== undefined && step !== 'approve' && step !== 'permit';

/** Whether the payment itself is on its way, and not only what comes before it. */
export const isSent = (payment: Payment): boolean =>
  isLastStep(payment) && (payment.state === 'sent' || payment.state === 'mined');

/** The announced deposit that it pays. Version 1 kept it as `transaction`. */
export const depositIdOf = (payment: Kept<PaymentRequest>): string | undefined =>
  payment.kind === 'deposit' ? (payment.depositId ?? payment.transaction) : undefined;

/** Of the deposit if it was announced: it must not be paid twice, by whichever payment. */
export const lockOf = (payment: Payment): string =>
  `pooled-savings-payment:${depositIdOf(payment) ?? payment.id}`;

/** Whether it has not ended yet. */
export const isUnderWay = ({ state }: Payment): boolean =>
  state === 'checking' || state === 'wallet' || state === 'sent' || state === 'mined';

/** The list with the payment in it. */
function withPayment(payments: readonly Payment[], payment: Payment): Payment[] {
  const newestFirst = (a: Payment, b: Payment): number => b.startedAt - a.startedAt;
  const others = payments.filter(({ id }) => id !== payment.id).sort(newestFirst);
  const byWorth = [...others.filter(isUnderWay), ...others.filter((each) => !isUnderWay(each))];
  return [payment, ...byWorth.slice(0, MOST_PAYMENTS - 1)].sort(newestFirst);
}

/** Keeps payments in memory, until the process or page ends. */
export function memoryPayments(): PaymentStore {
  let stored: string | null = null;
  return webPayments({ getItem: () => stored, setItem: (_, text) => void (stored = text) });
}

/** Keeps payments in `localStorage`: for all tabs, and over reloads. Nothing in it is secret. */
export function webPayments(
  storage: Omit<WebStorage, 'removeItem'>,
  key = 'pooled-savings-payments',
): PaymentStore {
  const list = (): Payment[] => {
    try {
      const found = JSON.parse(storage.getItem(key) ?? '[]') as unknown;
      return Array.isArray(found) ? found.filter(isPayment) : [];
    } catch {
      return [];
    }
  };
  return {
    list,
    put: (payment) => storage.setItem(key, JSON.stringify(withPayment(list(), payment))),
    remove: (id) => storage.setItem(key, JSON.stringify(list().filter((each) => each.id !== id))),
    watch: (changed) => {
      // Only pages hear of what other tabs write.
      const page = globalThis as Partial<EventTarget>;
      const listen = (event: Event & { key?: string | null }): void => {
        if (event.key === key || event.key === null) changed();
      };
      page.addEventListener?.('storage', listen);
      return () => page.removeEventListener?.('storage', listen);
    },
  };
}

/** Others may have written into the storage. */
const isPayment = (value: unknown): value is Payment =>
  typeof value === 'object' &&
  value !== null &&
  ['id', 'kind', 'state'].every((field) => typeof (value as Record<string, unknown>)[field] === 'string') &&
  typeof (value as Payment).startedAt === 'number';
