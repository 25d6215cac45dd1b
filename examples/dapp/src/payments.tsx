import type { Payment, Start } from '@pooled-savings/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog, ProblemText, type ShownStep, Steps } from './dialog.js';
import { type Token, shortAddress } from './format.js';
import { type Paying, type ShownPayment, TITLES, isArrived, resultText, saysOf, stepText } from './paying.js';

interface Context {
  token: Token;
  data: Start;
  explorer: string | null;
  paying: Paying;
}

/** A payment on its way. Closed, it goes on in the background, and stands in the list of what is under way. */
export function PaymentDialog({ shown, token, data, explorer, paying }: Context & { shown: ShownPayment }) {
  const { payment, problem, steps, isHere } = shown;
  const { id, kind, state, hash } = payment;
  const arrived = isArrived(payment, data);
  const ended = arrived || state === 'failed' || state === 'cancelled';
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), [ended]);
  const close = (): void => (ended ? paying.dismiss(id) : paying.show(undefined));
  const asked = steps.map((step, at): ShownStep => {
    if (at < steps.length - 1) return { label: stepText(step), state: 'done' };
    const failed = state === 'failed' || state === 'cancelled';
    const done = state === 'mined' || state === 'done';
    return { label: stepText(step), state: failed ? 'failed' : done ? 'done' : 'active' };
  });
  const last: ShownStep = {
    label: 'Confirmed by the service',
    state: arrived ? 'done' : state === 'mined' || state === 'done' ? 'active' : 'waiting',
  };
  const says = saysOf(payment, token, data);
  return (
    <Dialog title={TITLES[kind]} onClose={close}>
      {says && (
        <p class="says" data-field="pays">
          {says}
        </p>
      )}
      <Steps steps={[...asked, last]} />
      <div aria-live="polite" class="status">
        <Status shown={shown} token={token} data={data} />
        {problem && <ProblemText problem={problem} />}
      </div>
      {hash && <Sent payment={payment} explorer={explorer} />}
      <div class="actions">
        {!isHere && state === 'wallet' && (
          <button type="button" class="main" onClick={() => paying.resume(id)}>
            Ask the wallet again
          </button>
        )}
        <button ref={button} type="button" class={arrived ? 'main' : ''} onClick={close}>
          {arrived ? 'Done' : ended ? 'Close' : 'Go on in the background'}
        </button>
        {(state === 'checking' || state === 'wallet') && (
          <button type="button" onClick={() => paying.cancel(id)}>
            Cancel
          </button>
        )}
      </div>
    </Dialog>
  );
}

/** Where it is, in words. */
function Status({ shown, token, data }: { shown: ShownPayment; token: Token; data: Start }) {
  const { payment, isHere } = shown;
  if (payment.attention === 'account')
    return (
      <p class="notice">
        Your wallet is on another account now. Change back to {shortAddress(payment.account!)}.
      </p>
    );
  if (payment.attention === 'chain')
    return <p class="notice">Your wallet is on another chain now. Change back.</p>;
  switch (payment.state) {
    case 'checking':
      return <p>Looking at your wallet’s account, chain and balance…</p>;
    case 'wallet':
      return isHere ? (
        <p>
          <strong>Confirm in your wallet</strong>
        </p>
      ) : (
        <p>This began in another tab or before a reload, and was not sent as far as is known.</p>
      );
    case 'sent':
      return <p>Sent. The chain works on it.</p>;
    case 'mined':
    case 'done':
      return isArrived(payment, data) ? (
        <p class="result">{resultText(payment, token)}</p>
      ) : (
        <p>
          {payment.kind === 'deposit' || payment.kind === 'buyTickets' ? 'Paid' : 'The chain has it'}. The
          service is catching up, and will show it here.
        </p>
      );
    case 'cancelled':
      return <p>Cancelled. If your wallet still asks for it, decline it there.</p>;
    case 'failed':
      return null;
  }
}

const HASH_SHOWN = 10;

function Sent({ payment, explorer }: { payment: Payment; explorer: string | null }) {
  const { hash, sentAt } = payment;
  const text = `${hash!.slice(0, HASH_SHOWN)}…`;
  return (
    <p class="muted">
      Transaction{' '}
      {explorer ? (
        <a href={`${explorer.replace(/\/$/, '')}/tx/${hash}`} target="_blank" rel="noreferrer">
          {text}
        </a>
      ) : (
        <code title={hash}>{text}</code>
      )}
      {payment.state === 'sent' && sentAt !== undefined && (
        <>
          , sent <Elapsed since={sentAt} /> ago
        </>
      )}
    </p>
  );
}

function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  return <span>{seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`}</span>;
}

/** Everything that is being paid, or has ended unseen. */
export function UnderWay({ token, data, paying }: Omit<Context, 'explorer'>) {
  const listed = paying.payments.filter((each) => each !== paying.shown);
  if (listed.length === 0) return null;
  return (
    <section class="card under-way" aria-labelledby="under-way">
      <h2 id="under-way">Under way</h2>
      <ul class="rows">
        {listed.map((shown) => (
          <li key={shown.payment.id} data-payment={shown.payment.kind}>
            <span>
              {TITLES[shown.payment.kind]}{' '}
              <span class="muted">· {shortStatus(shown.payment, token, data)}</span>
            </span>
            <button type="button" onClick={() => paying.show(shown.payment.id)}>
              Show
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function shortStatus(payment: Payment, token: Token, data: Start): string {
  switch (payment.state) {
    case 'checking':
      return 'looking at your wallet';
    case 'wallet':
      return 'waits for your wallet';
    case 'sent':
      return 'sent';
    case 'mined':
    case 'done':
      return isArrived(payment, data)
        ? resultText(payment, token)
        : 'on the chain, the service is catching up';
    case 'cancelled':
      return 'cancelled';
    case 'failed':
      return 'failed';
  }
}
