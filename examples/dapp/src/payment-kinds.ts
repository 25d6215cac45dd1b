import type { Payment, PaymentKind, PaymentStep } from '@pooled-savings/client';
import { type Token, exactText, withSymbol } from './format.js';

/** Where tokens go; otherwise the wallet pays only the fee of the chain. */
type Moves = 'in' | 'out' | undefined;

/** All that this page knows of a kind of payment. One that the client has and this table lacks does not compile. */
const KINDS: Record<PaymentKind, readonly [title: string, result: string, moves?: Moves]> = {
  deposit: ['Deposit', 'It has arrived.', 'in'],
  withdraw: ['Withdraw', 'It is in your wallet.', 'out'],
  claimYield: ['Claim yield', 'The yield is in your wallet.'],
  startCompounding: ['Compound yield', 'What you earn is paid in again from now on.'],
  stopCompounding: ['Stop compounding', 'What you earn waits for you from now on.'],
  buyTickets: ['Buy tickets', 'Good luck!', 'in'],
  claimPrize: ['Take the prize', 'The prize is in your wallet.'],
  refund: ['Take the money back', 'Your money is back in your wallet.'],
  completeDraw: ['Pick the winner', 'The winner is picked, or it took too long and another block picks.'],
  cancelDraw: ['Cancel the draw', 'The draw is cancelled. Everyone can take back what they paid.'],
  openCircle: ['Open the circle', 'The circle is open. It begins when all have joined.'],
  join: ['Join the circle', 'You are in. The circle begins when all have joined.', 'in'],
  contribute: ['Pay for the round', 'This round is paid.', 'in'],
  endRound: ['End the round', 'The round is over. The circle shows what came of it.'],
  claimPayout: ['Take the pot', 'The pot is in your wallet.'],
  claimRefund: ['Take the money back', 'Your money is back in your wallet.'],
  cancelCircle: ['Cancel the circle', 'The circle is cancelled. Everyone can take back what they locked.'],
};

export const titleOf = (kind: PaymentKind): string => KINDS[kind][0];

/** What it costs or brings, to the last digit, as the wallet is about to show it. */
export function saysOf(payment: Payment, token: Token | undefined): string | undefined {
  const [, , moves] = KINDS[payment.kind];
  if (!moves) return 'You pay only the fee of the chain';
  const amount = ('amount' in payment && payment.amount) || payment.cost;
  const says = moves === 'in' ? 'You pay' : 'You take out';
  return amount && token && `${says} ${exactText(amount, token)} ${token.symbol}`;
}

/** What the wallet asks for. */
export function stepText(step: PaymentStep): string {
  if (step === 'approve') return 'Allow the contract to take it';
  if (step === 'permit') return 'Sign the permission to take it';
  return step === 'batch' ? 'Allow and pay in one' : titleOf(step);
}

export function resultText(payment: Payment, token: Token | undefined): string {
  const { kind } = payment;
  const amount = 'amount' in payment && payment.amount && token && withSymbol(payment.amount, token);
  if (amount && kind === 'deposit') return `${amount} have arrived.`;
  return amount && kind === 'withdraw' ? `${amount} are back in your wallet.` : KINDS[kind][1];
}
