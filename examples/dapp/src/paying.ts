import type { PayOptions, Payment, PaymentStep, Start } from '@pooled-savings/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Problem, problemOf, textOf } from './errors.js';
import { type Token, exactWithSymbol, withSymbol } from './format.js';
import { type Session, client } from './session.js';

/** How soon to look whether a payment that another tab follows is still followed there. */
const OTHER_TAB_MS = 5_000;

/** What this page knows of a payment that runs in it. */
interface Running {
  /** What the wallet was asked for so far. */
  readonly steps: readonly PaymentStep[];
  /** Ends with more to tell than what the store keeps. */
  readonly problem?: Problem;
}

/** A payment, as it is shown. */
export interface ShownPayment {
  readonly payment: Payment;
  readonly steps: readonly PaymentStep[];
  readonly problem?: Problem;
  /** Whether it runs in this page, not in another tab or in an earlier visit. */
  readonly isHere: boolean;
}

export interface Paying {
  readonly payments: readonly ShownPayment[];
  /** The payment that has the dialog. */
  readonly shown: ShownPayment | undefined;
  show: (id: string | undefined) => void;
  /** Pays, and shows the payment. Resolves to the problem if not even a payment came of it. */
  start: (pay: (options: PayOptions) => Promise<unknown>) => Promise<Problem | undefined>;
  /** Goes on with one of an earlier visit. */
  resume: (id: string) => void;
  cancel: (id: string) => void;
  dismiss: (id: string) => void;
}

export const isUnderWay = ({ state }: Payment): boolean =>
  ['checking', 'wallet', 'sent', 'mined'].includes(state);

/** What is being paid: by this page, in other tabs, and since before a reload. */
export function usePaying({ address, payer }: Session, token: Token, data: Start | null): Paying {
  const [list, setList] = useState<readonly Payment[]>([]);
  const [here, setHere] = useState<ReadonlyMap<string, Running>>(new Map());
  const [shownId, show] = useState<string>();
  const started = useRef(new Set<string>());

  const change = (id: string, what: (now: Running) => Running): void =>
    setHere((now) => new Map(now).set(id, what(now.get(id) ?? { steps: [] })));
  const onChange = ({ id, step }: Payment): void => {
    started.current.add(id);
    change(id, (now) => (step && now.steps.at(-1) !== step ? { ...now, steps: [...now.steps, step] } : now));
  };
  const run = async (
    pay: (options: PayOptions) => Promise<unknown>,
    onBegin?: (id: string) => void,
  ): Promise<Problem | undefined> => {
    let id: string | undefined;
    const options = {
      wallet: payer,
      onChange: (payment: Payment): void => {
        onChange(payment);
        if (id === undefined) onBegin?.(payment.id);
        id = payment.id;
      },
    };
    try {
      await pay(options);
    } catch (error) {
      const problem = problemOf(error, token);
      if (id === undefined) return problem;
      change(id, (now) => ({ ...now, problem }));
    }
    return undefined;
  };
  const resume = async (id: string): Promise<void> => {
    if (started.current.has(id)) return;
    started.current.add(id);
    const problem = await run((options) => client.payments.resume(id, options));
    // Another tab has it. If that one is closed, this one goes on.
    if (problem?.code === 'deposit_submitted')
      setTimeout(() => {
        started.current.delete(id);
        setList((now) => [...now]);
      }, OTHER_TAB_MS);
  };

  useEffect(() => {
    let isFirst = true;
    return client.payments.subscribe((all) => {
      setList(all);
      for (const { id, state } of all) if (isFirst && state === 'done') void client.payments.dismiss(id);
      isFirst = false;
    });
  }, [address]);
  useEffect(() => {
    // What was sent is only followed; the wallet is not asked without a word of its user.
    for (const payment of list) if (isFollowed(payment)) void resume(payment.id);
  }, [list]);
  useEffect(() => {
    for (const payment of list)
      if (data && payment.kind === 'deposit' && payment.transaction && isArrived(payment, data))
        void client.payments.confirmed(payment.transaction);
  }, [list, data]);

  const payments = list.map((payment): ShownPayment => {
    const { steps, problem } = here.get(payment.id) ?? { steps: payment.step ? [payment.step] : [] };
    const { failure } = payment;
    const kept = failure && { code: failure.code, text: textOf(failure.code, failure.message) };
    const isHere = started.current.has(payment.id);
    return { payment, steps, problem: payment.state === 'failed' ? (problem ?? kept) : undefined, isHere };
  });
  return {
    payments,
    shown: payments.find(({ payment }) => payment.id === shownId),
    show,
    start: (pay) => run(pay, show),
    resume: (id) => void resume(id),
    cancel: (id) => void client.payments.cancel(id),
    dismiss: (id) => {
      show(undefined);
      void client.payments.dismiss(id);
    },
  };
}

const isFollowed = ({ state, step, hash }: Payment): boolean =>
  (state === 'sent' || state === 'mined') && hash !== undefined && step !== 'approve';

/** Whether it is on the chain, and the service has seen it. */
export const isArrived = (payment: Payment, data: Start): boolean =>
  (payment.state === 'mined' || payment.state === 'done') && isSeen(payment, data);

function isSeen(payment: Payment, { transactions, pools, entries }: Start): boolean {
  switch (payment.kind) {
    case 'deposit':
    case 'withdraw':
    case 'claimYield':
      return [
        ...transactions.data,
        ...pools.data.flatMap(({ recentTransactions }) => recentTransactions),
      ].some(({ txHash, status }) => txHash === payment.hash && status === 'CONFIRMED');
    case 'claimPrize':
    case 'refund':
    case 'completeDraw':
    case 'cancelDraw':
      return entries.data.every(
        ({ drawId, contract, due }) =>
          drawId !== payment.drawId || contract !== payment.contract || due !== DUE[payment.kind],
      );
    case 'buyTickets':
      return true;
  }
}

const DUE: Partial<Record<Payment['kind'], string>> = {
  claimPrize: 'claim',
  refund: 'refund',
  completeDraw: 'complete',
  cancelDraw: 'cancel',
};

export const TITLES: Record<Payment['kind'], string> = {
  deposit: 'Deposit',
  withdraw: 'Withdraw',
  claimYield: 'Claim yield',
  buyTickets: 'Buy tickets',
  claimPrize: 'Take the prize',
  refund: 'Take the money back',
  completeDraw: 'Pick the winner',
  cancelDraw: 'Cancel the draw',
};

/** What it costs or brings, to the last digit, as the wallet is about to show it. */
export function saysOf(payment: Payment, token: Token, { draw }: Pick<Start, 'draw'>): string | undefined {
  switch (payment.kind) {
    case 'deposit':
      return payment.amount && `You pay ${exactWithSymbol(payment.amount, token)}`;
    case 'withdraw':
      return `You take out ${exactWithSymbol(payment.amount, token)}`;
    case 'buyTickets':
      return draw
        ? `You pay ${exactWithSymbol(BigInt(draw.ticketPrice) * BigInt(payment.count), token)}`
        : undefined;
    case 'claimYield':
    case 'claimPrize':
    case 'refund':
    case 'completeDraw':
    case 'cancelDraw':
      return 'You pay only the fee of the chain';
  }
}

/** What the wallet asks for. */
export const stepText = (step: PaymentStep): string =>
  ({
    approve: 'Allow the contract to take it',
    permit: 'Sign the permission to take it',
    batch: 'Allow and pay in one',
    deposit: 'Pay it in',
    withdraw: 'Take it out',
    claimYield: 'Take the yield',
    buyTickets: 'Buy the tickets',
    claimPrize: 'Have the prize paid',
    refund: 'Have the money paid back',
    completeDraw: 'Pick the winner',
    cancelDraw: 'Cancel the draw',
  })[step];

export function resultText(payment: Payment, token: Token): string {
  switch (payment.kind) {
    case 'deposit':
      return payment.amount ? `${withSymbol(payment.amount, token)} have arrived.` : 'It has arrived.';
    case 'withdraw':
      return `${withSymbol(payment.amount, token)} are back in your wallet.`;
    case 'claimYield':
      return 'The yield is in your wallet.';
    case 'buyTickets':
      return 'Good luck!';
    case 'claimPrize':
      return 'The prize is in your wallet.';
    case 'refund':
      return 'Your money is back in your wallet.';
    case 'completeDraw':
      return 'The winner is picked, or it took too long and another block picks.';
    case 'cancelDraw':
      return 'The draw is cancelled. Everyone can take back what they paid.';
  }
}
