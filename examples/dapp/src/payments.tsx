import { type PayOptions, type Payment, isSent, isUnderWay } from '@pooled-savings/client';
import { usePayments } from '@pooled-savings/client/react';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Problem, problemOf, textOf } from './errors.js';
import { type Token, dateText, shortAddress } from './format.js';
import { type Tokens, usePage } from './page.js';
import { Button, Dialog, EndButton, ProblemText } from './parts.js';
import { resultText, saysOf, stepText, titleOf } from './payment-kinds.js';
import { type ReadyConfig, type Session, client } from './session.js';

/** How soon to try again to follow a payment: another tab may follow it, or something could not be reached. */
const AGAIN_MS = 5_000;

/** A payment, as it is shown. */
interface ShownPayment {
  readonly payment: Payment;
  readonly token: Token | undefined;
  readonly problem?: Problem;
  /** It began in another tab or in an earlier visit, and asks the wallet only when the user says so. */
  readonly waits: boolean;
}

export interface Paying {
  readonly payments: readonly ShownPayment[];
  /** The payment that has the dialog. */
  readonly shown: ShownPayment | undefined;
  show: (id: string | undefined) => void;
  /** The payment for a pool that is on its way. Until it has arrived the pool offers no other one. */
  of: (pool: string) => Payment | undefined;
  /** Pays, and shows the payment. Throws if not even a payment came of it. */
  start: (pay: (options: PayOptions) => Promise<unknown>) => Promise<void>;
  /** Goes on with a payment of an earlier visit. */
  resume: (id: string) => Promise<void>;
}

/**
 * The payments of this page, of other tabs, and of the time before a reload.
 * @param onArrived called once for each payment that the service has applied
 */
export function usePaying(
  { payer }: Session,
  { contracts }: ReadyConfig,
  tokens: Tokens,
  onArrived: (payment: Payment) => void,
): Paying {
  const list = usePayments(client);
  /** Why payments of this page failed, in more words than the store keeps. */
  const [problems, setProblems] = useState<Readonly<Record<string, Problem | undefined>>>({});
  const [shownId, show] = useState<string>();
  const [turn, setTurn] = useState(0);
  /** What this page pays or follows, what it has seen under way, and what it knows to have arrived. */
  const { current: started } = useRef(new Set<string>());
  const { current: seen } = useRef(new Set<string>());
  const { current: arrived } = useRef(new Set<string>());

  const tokenOf = (payment: Payment): Token | undefined =>
    'pool' in payment
      ? tokens.ofPool(payment.pool)
      : tokens.ofContract(('contract' in payment && payment.contract) || (contracts.lottery ?? ''));
  const run = async (pay: (options: PayOptions) => Promise<unknown>, known?: Payment): Promise<void> => {
    let payment = known;
    const onChange = (changed: Payment): void => {
      if (!payment) show(changed.id);
      payment = changed;
      started.add(changed.id);
    };
    try {
      await pay({ wallet: payer, onChange });
    } catch (error) {
      if (!payment) throw error;
      const { id } = payment;
      const problem = problemOf(error, tokenOf(payment));
      // If the wallet sends it after all, it is followed again.
      started.delete(id);
      setProblems((now) => ({ ...now, [id]: problem }));
      setTimeout(() => setTurn((now) => now + 1), AGAIN_MS);
    }
  };
  const resume = async (id: string): Promise<void> => {
    if (started.has(id)) return;
    started.add(id);
    setProblems((now) => ({ ...now, [id]: undefined }));
    const payment = list.find((each) => each.id === id);
    await run((options) => client.payments.resume(id, options), payment);
  };
  useEffect(() => {
    for (const payment of list) {
      // What was sent is only followed; the wallet is not asked unless its user says so.
      if (isSent(payment)) void resume(payment.id);
      if (!payment.arrived) seen.add(payment.id);
      if (!payment.arrived || arrived.has(payment.id)) continue;
      arrived.add(payment.id);
      onArrived(payment);
      // It was done before this visit, so the user need not see it again. Another tab may still show any other one.
      if (!seen.has(payment.id) && payment.startedAt < performance.timeOrigin)
        void client.payments.dismiss(payment.id);
    }
  }, [list, turn]);

  const payments = list.map((payment): ShownPayment => {
    const { id, state, failure } = payment;
    const waits = isUnderWay(payment) && !isSent(payment) && !started.has(id);
    const kept = failure && { code: failure.code, text: textOf(failure.code, failure.message) };
    const problem = state === 'failed' || waits ? (problems[id] ?? kept) : undefined;
    return { payment, token: tokenOf(payment), problem, waits };
  });
  return {
    payments,
    shown: payments.find(({ payment }) => payment.id === shownId),
    show,
    of: (pool) =>
      list.find(
        (each) =>
          'pool' in each &&
          each.pool === pool &&
          !each.arrived &&
          (isUnderWay(each) || each.state === 'done'),
      ),
    start: run,
    resume,
  };
}

/** Where a payment is, in words. */
function statusOf({ payment, token, waits }: ShownPayment): string {
  const { attention, account, state, arrived, sentAt } = payment;
  if (attention === 'account')
    return `Your wallet is on another account now. Change back to ${shortAddress(account!)}.`;
  if (attention === 'chain') return 'Your wallet is on another chain now. Change back.';
  if (waits)
    return state === 'sent'
      ? 'The permission was sent. Nothing is paid yet: your wallet has to be asked for that.'
      : 'This began in another tab or before a reload, and was not sent as far as is known. If your wallet still asks for it, answer there.';
  switch (state) {
    case 'checking':
      return 'Looking at your wallet’s account, chain and balance…';
    case 'wallet':
      return 'Confirm in your wallet';
    case 'sent':
      return `Sent ${dateText(sentAt ?? Date.now())}. The chain works on it.`;
    case 'mined':
    case 'done':
      return arrived
        ? resultText(payment, token)
        : 'The chain has it. The service is catching up, and will show it here.';
    case 'cancelled':
      return 'Cancelled. If your wallet still asks for it, decline it there.';
    case 'failed':
      return 'Failed.';
  }
}

const SIGNS = { active: '', waiting: '', done: '✓', failed: '!' } as const;

function Step({ label, state }: { label: string; state: keyof typeof SIGNS }) {
  return (
    <li class={state}>
      <span class="sign" aria-hidden="true">
        {SIGNS[state]}
      </span>
      <span>{label}</span>
    </li>
  );
}

/** The payment that is shown. Closed, it goes on in the background, and stays in the list of what is under way. */
export function PaymentDialog({ shown }: { shown: ShownPayment }) {
  const { config, paying } = usePage();
  const { payment, token, problem, waits } = shown;
  const { id, kind, state, step, hash } = payment;
  const arrived = payment.arrived === true;
  const failed = state === 'failed' || state === 'cancelled';
  const isMined = state === 'mined' || state === 'done';
  const close = (): void => {
    paying.show(undefined);
    if (arrived || failed) void client.payments.dismiss(id);
  };
  const explorer = config.chain?.explorerUrl?.replace(/\/$/, '');
  const says = saysOf(payment, token);
  return (
    <Dialog title={titleOf(kind)} onClose={close}>
      {says && (
        <p class="says" data-field="pays">
          {says}
        </p>
      )}
      <ol class="steps">
        {step && <Step label={stepText(step)} state={failed ? 'failed' : isMined ? 'done' : 'active'} />}
        <Step label="Confirmed by the service" state={arrived ? 'done' : isMined ? 'active' : 'waiting'} />
      </ol>
      <div aria-live="polite" class="status">
        {state !== 'failed' && (
          <p class={payment.attention ? 'notice' : arrived ? 'result' : ''}>{statusOf(shown)}</p>
        )}
        {problem && <ProblemText problem={problem} />}
      </div>
      {hash && (
        <p class="muted">
          Transaction{' '}
          {explorer ? (
            <a href={`${explorer}/tx/${hash}`} target="_blank" rel="noreferrer">
              {shortAddress(hash)}
            </a>
          ) : (
            <code title={hash}>{shortAddress(hash)}</code>
          )}
        </p>
      )}
      <div class="actions">
        {waits && <Button kind="main" text="Ask the wallet again" onClick={() => void paying.resume(id)} />}
        <EndButton ended={arrived || failed} good={arrived} onClick={close} />
        {isUnderWay(payment) && !isSent(payment) && (
          <Button text="Cancel" onClick={() => void client.payments.cancel(id)} />
        )}
      </div>
    </Dialog>
  );
}

/** Everything that is being paid, or has ended unseen. */
export function UnderWay() {
  const { paying } = usePage();
  const listed = paying.payments.filter((each) => each !== paying.shown);
  if (listed.length === 0) return null;
  return (
    <section class="card under-way" aria-labelledby="under-way">
      <h2 id="under-way">Under way</h2>
      <ul class="rows">
        {listed.map((shown) => (
          <li key={shown.payment.id} data-payment={shown.payment.kind}>
            <span>
              {titleOf(shown.payment.kind)} <span class="muted">· {statusOf(shown)}</span>
            </span>
            <Button text="Show" onClick={() => paying.show(shown.payment.id)} />
          </li>
        ))}
      </ul>
    </section>
  );
}
