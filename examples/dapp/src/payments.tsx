import { type Payment, isSent, isUnderWay } from '@pooled-savings/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button, Dialog, ProblemText, type ShownStep, Steps } from './parts.js';
import { type Token, shortAddress } from './format.js';
import type { Paying, ShownPayment } from './paying.js';
import type { Tokens } from './tokens.js';
import { paysIn, resultText, saysOf, stepText, titleOf } from './payment-texts.js';

interface Context {
  tokens: Tokens;
  explorer: string | null;
  paying: Paying;
}

/** A payment on its way. Closed, it goes on in the background, and stands in the list of what is under way. */
export function PaymentDialog({ shown, tokens, explorer, paying }: Context & { shown: ShownPayment }) {
  const { payment, problem, steps, waits } = shown;
  const { id, kind, state, hash, arrived } = payment;
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
  const token = tokens.ofPayment(payment);
  const says = saysOf(payment, token);
  return (
    <Dialog title={titleOf(kind)} onClose={close}>
      {says && (
        <p class="says" data-field="pays">
          {says}
        </p>
      )}
      <Steps steps={[...asked, last]} />
      <div aria-live="polite" class="status">
        <Status shown={shown} token={token} />
        {problem && <ProblemText problem={problem} />}
      </div>
      {hash && <Sent payment={payment} explorer={explorer} />}
      <div class="actions">
        {waits && <Button kind="main" text="Ask the wallet again" onClick={() => paying.resume(id)} />}
        <button ref={button} type="button" class={arrived ? 'main' : ''} onClick={close}>
          {arrived ? 'Done' : ended ? 'Close' : 'Go on in the background'}
        </button>
        {isUnderWay(payment) && !isSent(payment) && (
          <Button text="Cancel" onClick={() => paying.cancel(id)} />
        )}
      </div>
    </Dialog>
  );
}

/** Where it is, in words. */
function Status({ shown, token }: { shown: ShownPayment; token: Token | undefined }) {
  const { payment, waits } = shown;
  if (payment.attention === 'account')
    return (
      <p class="notice">
        Your wallet is on another account now. Change back to {shortAddress(payment.account!)}.
      </p>
    );
  if (payment.attention === 'chain')
    return <p class="notice">Your wallet is on another chain now. Change back.</p>;
  if (waits)
    return payment.state === 'sent' ? (
      <p>The permission was sent. Nothing is paid yet: your wallet has to be asked for that.</p>
    ) : (
      <p>
        This began in another tab or before a reload, and was not sent as far as is known. If your wallet
        still asks for it, answer there.
      </p>
    );
  switch (payment.state) {
    case 'checking':
      return <p>Looking at your wallet’s account, chain and balance…</p>;
    case 'wallet':
      return (
        <p>
          <strong>Confirm in your wallet</strong>
        </p>
      );
    case 'sent':
      return <p>Sent. The chain works on it.</p>;
    case 'mined':
    case 'done':
      return payment.arrived ? (
        <p class="result">{resultText(payment, token)}</p>
      ) : (
        <p>
          {paysIn(payment) ? 'Paid' : 'The chain has it'}. The service is catching up, and will show it here.
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
export function UnderWay({ tokens, paying }: Omit<Context, 'explorer'>) {
  const listed = paying.payments.filter((each) => each !== paying.shown);
  if (listed.length === 0) return null;
  return (
    <section class="card under-way" aria-labelledby="under-way">
      <h2 id="under-way">Under way</h2>
      <ul class="rows">
        {listed.map((shown) => (
          <li key={shown.payment.id} data-payment={shown.payment.kind}>
            <span>
              {titleOf(shown.payment.kind)}{' '}
              <span class="muted">· {shortStatus(shown, tokens.ofPayment(shown.payment))}</span>
            </span>
            <Button text="Show" onClick={() => paying.show(shown.payment.id)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function shortStatus({ payment, waits }: ShownPayment, token: Token | undefined): string {
  if (waits) return 'waits for your wallet';
  switch (payment.state) {
    case 'checking':
      return 'looking at your wallet';
    case 'wallet':
      return 'waits for your wallet';
    case 'sent':
      return 'sent';
    case 'mined':
    case 'done':
      return payment.arrived ? resultText(payment, token) : 'on the chain; the service is catching up';
    case 'cancelled':
      return 'cancelled';
    case 'failed':
      return 'failed';
  }
}
