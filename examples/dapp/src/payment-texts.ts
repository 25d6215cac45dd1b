import type { Payment, PaymentKind, PaymentStep } from '@pooled-savings/client';
import { type Token, exactWithSymbol, withSymbol } from './format.js';

interface KindTexts {
  readonly title: string;
  /** What the wallet asks for. */
  readonly step: string;
  readonly result: string;
  /** Follows the amount where it is known, in place of `result`. */
  readonly amountResult?: string;
  /** Where tokens go; without it the wallet pays only the fee of the chain. */
  readonly moves?: 'in' | 'out';
  /** It changes a circle. */
  readonly ofCircle?: true;
}

/** All that this page knows of a kind of payment. One that the client has and this table lacks does not compile. */
const KINDS = {
  deposit: {
    title: 'Deposit',
    step: 'Pay it in',
    result: 'It has arrived.',
    amountResult: 'have arrived.',
    moves: 'in',
  },
  withdraw: {
    title: 'Withdraw',
    step: 'Take it out',
    result: 'It is in your wallet.',
    amountResult: 'are back in your wallet.',
    moves: 'out',
  },
  claimYield: { title: 'Claim yield', step: 'Take the yield', result: 'The yield is in your wallet.' },
  startCompounding: {
    title: 'Compound yield',
    step: 'Let anyone pay your yield in again',
    result: 'What you earn is paid in again from now on.',
  },
  stopCompounding: {
    title: 'Stop compounding',
    step: 'Keep your yield to be claimed',
    result: 'What you earn waits for you from now on.',
  },
  buyTickets: { title: 'Buy tickets', step: 'Buy the tickets', result: 'Good luck!', moves: 'in' },
  claimPrize: {
    title: 'Take the prize',
    step: 'Have the prize paid',
    result: 'The prize is in your wallet.',
  },
  refund: {
    title: 'Take the money back',
    step: 'Have the money paid back',
    result: 'Your money is back in your wallet.',
  },
  completeDraw: {
    title: 'Pick the winner',
    step: 'Pick the winner',
    result: 'The winner is picked, or it took too long and another block picks.',
  },
  cancelDraw: {
    title: 'Cancel the draw',
    step: 'Cancel the draw',
    result: 'The draw is cancelled. Everyone can take back what they paid.',
  },
  openCircle: {
    title: 'Open the circle',
    step: 'Open the circle',
    result: 'The circle is open. It begins when all have joined.',
    ofCircle: true,
  },
  join: {
    title: 'Join the circle',
    step: 'Join the circle',
    result: 'You are in. The circle begins when all have joined.',
    moves: 'in',
    ofCircle: true,
  },
  contribute: {
    title: 'Pay for the round',
    step: 'Pay for the round',
    result: 'This round is paid.',
    moves: 'in',
    ofCircle: true,
  },
  endRound: {
    title: 'End the round',
    step: 'End the round',
    result: 'The round is over. The circle shows what came of it.',
    ofCircle: true,
  },
  claimPayout: {
    title: 'Take the pot',
    step: 'Have the pot paid',
    result: 'The pot is in your wallet.',
    ofCircle: true,
  },
  claimRefund: {
    title: 'Take the money back',
    step: 'Have the money paid back',
    result: 'Your money is back in your wallet.',
    ofCircle: true,
  },
  cancelCircle: {
    title: 'Cancel the circle',
    step: 'Cancel the circle',
    result: 'The circle is cancelled. Everyone can take back what they locked.',
    ofCircle: true,
  },
} as const satisfies Record<PaymentKind, KindTexts>;

export type CircleKind = {
  [Kind in PaymentKind]: (typeof KINDS)[Kind] extends { ofCircle: true } ? Kind : never;
}[PaymentKind];

const textsOf = (kind: PaymentKind): KindTexts => KINDS[kind];

export const titleOf = (kind: PaymentKind): string => KINDS[kind].title;

export const isOfCircle = (payment: Payment): payment is Extract<Payment, { kind: CircleKind }> =>
  textsOf(payment.kind).ofCircle === true;

export const paysIn = ({ kind }: Payment): boolean => textsOf(kind).moves === 'in';

const amountOf = (payment: Payment): string | undefined => ('amount' in payment ? payment.amount : undefined);

/** What it costs or brings, to the last digit, as the wallet is about to show it. */
export function saysOf(payment: Payment, token: Token | undefined): string | undefined {
  const { moves } = textsOf(payment.kind);
  if (!moves) return 'You pay only the fee of the chain';
  const amount = amountOf(payment) ?? payment.cost;
  return amount && token && `You ${moves === 'in' ? 'pay' : 'take out'} ${exactWithSymbol(amount, token)}`;
}

const STEPS = {
  approve: 'Allow the contract to take it',
  permit: 'Sign the permission to take it',
  batch: 'Allow and pay in one',
} as const;

/** What the wallet asks for. */
export const stepText = (step: PaymentStep): string =>
  step in STEPS ? STEPS[step as keyof typeof STEPS] : KINDS[step as PaymentKind].step;

export function resultText(payment: Payment, token: Token | undefined): string {
  const { result, amountResult } = textsOf(payment.kind);
  const amount = amountOf(payment);
  return amountResult && amount && token ? `${withSymbol(amount, token)} ${amountResult}` : result;
}
