import type { Abi, Hash, TransactionReceipt } from 'viem';
import { DepositSubmittedError, isSavingsError } from '../errors.js';
import { isTransient } from '../transport.js';
import type { Api, ClientConfig, ContractCall } from '../types.js';
import { backoff, rest } from '../wait.js';
import type { Payer } from '../wallet.js';
import { addressOf, chainAccess } from './chain-access.js';
import { callsOf } from './kinds.js';
import { type Payment, isLastStep, isSent, depositIdOf } from './payment.js';
import { type Progress, Run, type SendOptions } from './run.js';
import { receiptOf } from './search.js';
import { followBatch, sendWith } from './send.js';

export interface CarryOutOptions extends Omit<SendOptions, 'onChange'> {
  wallet?: Payer;
  signal: AbortSignal;
  api: Api;
  config: ClientConfig;
  abi: () => Promise<Abi>;
  reporter: HashReporter;
  onChange: (payment: Payment) => Promise<void>;
}

const SETTLING = { firstMs: 500, mostMs: 60_000 };
const REPORTING = { firstMs: 1_000, mostMs: 60_000 };

/** What ends a transaction once its block is final. One that was dropped can still be mined. */
const ENDED = new Set(['transaction_reverted', 'transaction_cancelled', 'transaction_replaced']);

/** Carries a payment out, or the rest of it, and tells of each of its states. */
export async function carryOut(from: Payment, options: CarryOutOptions): Promise<TransactionReceipt[]> {
  const { signal, reporter, onChange } = options;
  const depositId = depositIdOf(from);
  let payment = from;
  const change = async (changed: Partial<Payment>): Promise<void> => {
    payment = { ...payment, ...changed } as Payment;
    await onChange(payment);
  };
  let reported: Hash | undefined;
  const report = (): void => {
    const { hash } = payment;
    if (depositId === undefined || !hash || !isLastStep(payment) || reported === hash) return;
    reported = hash;
    reporter.sent(depositId, hash);
  };
  const tell = async (progress: Progress): Promise<void> => {
    const sentAt = progress.hash && progress.hash === payment.hash ? payment.sentAt : Date.now();
    await change({ hash: undefined, attention: undefined, ...progress, ...(progress.hash && { sentAt }) });
    report();
  };
  // The page may have been left before the service knew.
  if (isSent(from)) report();
  try {
    const receipts = await send(payment, { ...options, tell });
    const block = Number(receipts[receipts.length - 1].blockNumber);
    await change({ state: depositId === undefined ? 'done' : 'mined', block, attention: undefined });
    return receipts;
  } catch (error) {
    const code = isSavingsError(error) ? error.code : 'wallet';
    if (signal.aborted) {
      // What was sent stays sent: only the wait for it has ended.
      if (!isSent(payment)) await change({ state: 'cancelled' });
    } else {
      await change({
        state: 'failed',
        attention: undefined,
        failure: { code, message: (error as Error).message },
      });
      if (depositId !== undefined && payment.hash && isLastStep(payment) && ENDED.has(code))
        reporter.takeBack(depositId, payment.hash);
    }
    throw error;
  }
}

async function send(
  payment: Payment,
  { wallet, api, config, ...options }: CarryOutOptions & { tell: (progress: Progress) => Promise<void> },
): Promise<TransactionReceipt[]> {
  const { hash, trace, account, attention } = payment;
  const { onChange: _, ...rest } = options;
  const run = (chainId: number): Run =>
    new Run(chainAccess(wallet, chainId, config), { ...rest, config, account });
  if (trace && isSent(payment)) {
    const sent = run(trace.chainId);
    if (!hash) return followBatch(sent, callOf(payment), trace);
    const from = account ?? addressOf(await sent.account());
    return [await sent.mined(callOf(payment), from, hash, trace, attention)];
  }
  if (trace && hash && payment.state === 'sent') {
    // The approval of an earlier visit: while it is on its way, another one would be asked for.
    const sent = run(trace.chainId);
    const from = account ?? addressOf(await sent.account());
    await sent.mined(callOf(payment), from, hash, trace, attention);
  }
  const calls = await callsOf(api, payment, options.signal).catch(async (error: unknown) => {
    throw await submittedOr(error, payment, api);
  });
  return sendWith(run(calls[0].chainId), calls);
}

const callOf = ({ step, kind, trace }: Payment): ContractCall => {
  const { chainId, to, data, value = '0' } = trace!;
  return { name: step === 'batch' ? kind : step, chainId, to, data, value } as ContractCall;
};

/** The service knows of a payment of the deposit that this client does not: another device has sent it. */
async function submittedOr(error: unknown, payment: Payment, api: Api): Promise<unknown> {
  const id = depositIdOf(payment);
  if (!isSavingsError(error) || error.code !== 'deposit_submitted' || id === undefined) return error;
  return new DepositSubmittedError(id, await submittedHash(api, id));
}

/**
 * Waits until the service has seen a payment that is on the chain: its block, and the deposit if it was announced.
 * @returns what becomes of it: `sent` if the chain has taken its block back, undefined if it is not the same any more
 */
export async function untilSeen(
  seen: Payment,
  context: Pick<CarryOutOptions, 'wallet' | 'api' | 'config'> & { now: () => Promise<Payment | undefined> },
): Promise<'done' | 'sent' | undefined> {
  const { firstMs, mostMs } = SETTLING;
  const { hash, trace, state, block = 0 } = seen;
  const id = depositIdOf(seen);
  for (let attempt = 1; ; attempt++) {
    await rest(backoff(attempt, firstMs, mostMs));
    const payment = await context.now();
    if (payment?.state !== state || payment.hash !== hash || payment.arrived) return undefined;
    try {
      const { data: health } = await context.api.GET('/health');
      // Version 1.0 of the service does not send it.
      const { block: applied = Infinity }: { block?: number | null } = health!;
      const isApplied = (applied ?? -1) >= block;
      if (isApplied && (id === undefined || !(await isPending(context.api, id)))) return 'done';
      if (id === undefined) continue;
      const { reader } = chainAccess(context.wallet, trace!.chainId, context.config);
      if (!(await receiptOf(reader, hash!))) return 'sent';
    } catch {
      // Who cannot be reached says nothing.
    }
  }
}

async function isPending(api: Api, id: string): Promise<boolean> {
  const { data } = await api.GET('/transactions/by-id/{id}', { params: { path: { id } } });
  return data!.data.status === 'PENDING';
}

/** The transaction that the service knows to pay the deposit. */
export async function submittedHash(api: Api, id: string): Promise<Hash | undefined> {
  const params = { path: { id } };
  const found = await api.GET('/transactions/by-id/{id}', { params }).catch(() => undefined);
  return found?.data?.data.submitted?.hash as Hash | undefined;
}

/**
 * Reports to the service which transaction pays a deposit, in the background until it knows: then all devices show it, and
 * none offers to pay again. A payment never waits for that, and never fails because of it.
 */
export class HashReporter {
  /** By deposit: the newest that there is to tell. */
  private readonly newest = new Map<string, Promise<void>>();

  constructor(private readonly api: Api) {}

  sent(id: string, hash: Hash): void {
    this.tell(id, () =>
      this.api.POST('/transactions/{id}/sent', { params: { path: { id } }, body: { hash } }),
    );
  }

  /** That this transaction will not pay the deposit: the service looks at it now. */
  takeBack(id: string, hash: Hash): void {
    this.tell(id, () =>
      this.api.DELETE('/transactions/{id}/sent', { params: { path: { id }, query: { hash } } }),
    );
  }

  /** Resolves when nothing is left to tell of the deposit, or after the time. */
  async settled(id: string, ms: number): Promise<void> {
    const telling = this.newest.get(id);
    if (telling) await Promise.race([telling, rest(ms)]);
  }

  private tell(id: string, request: () => Promise<unknown>): void {
    const before = this.newest.get(id);
    const isNewest = (): boolean => this.newest.get(id) === telling;
    const untilKnown = async (): Promise<void> => {
      // In their order: the last report holds.
      await before;
      for (let attempt = 1; isNewest(); attempt++) {
        try {
          await request();
          return;
        } catch (error) {
          if (isSavingsError(error) && !isTransient(error)) return;
        }
        await rest(backoff(attempt, REPORTING.firstMs, REPORTING.mostMs));
      }
    };
    const telling = untilKnown().finally(() => isNewest() && this.newest.delete(id));
    this.newest.set(id, telling);
  }
}
