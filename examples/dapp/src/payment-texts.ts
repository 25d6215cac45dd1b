import type { Payment, PaymentStep } from '@pooled-savings/client';
import { type Token, exactWithSymbol, withSymbol } from './format.js';

export const TITLES: Record<Payment['kind'], string> = {
  deposit: 'Deposit',
  withdraw: 'Withdraw',
  claimYield: 'Claim yield',
  startCompounding: 'Compound yield',
  stopCompounding: 'Stop compounding',
  buyTickets: 'Buy tickets',
  claimPrize: 'Take the prize',
  refund: 'Take the money back',
  completeDraw: 'Pick the winner',
  cancelDraw: 'Cancel the draw',
  openCircle: 'Open the circle',
  join: 'Join the circle',
  contribute: 'Pay for the round',
  endRound: 'End the round',
  claimPayout: 'Take the pot',
  claimRefund: 'Take the money back',
  cancelCircle: 'Cancel the circle',
};

/** What it costs or brings, to the last digit, as the wallet is about to show it. */
export function saysOf(payment: Payment, token: Token | undefined): string | undefined {
  switch (payment.kind) {
    case 'deposit':
    case 'join':
    case 'contribute':
    case 'buyTickets': {
      const amount = payment.kind === 'deposit' ? (payment.amount ?? payment.cost) : payment.cost;
      return amount && token && `You pay ${exactWithSymbol(amount, token)}`;
    }
    case 'withdraw':
      return token && `You take out ${exactWithSymbol(payment.amount, token)}`;
    case 'claimYield':
    case 'startCompounding':
    case 'stopCompounding':
    case 'claimPrize':
    case 'refund':
    case 'completeDraw':
    case 'cancelDraw':
    case 'openCircle':
    case 'endRound':
    case 'claimPayout':
    case 'claimRefund':
    case 'cancelCircle':
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
    startCompounding: 'Let anyone pay your yield in again',
    stopCompounding: 'Keep your yield to be claimed',
    buyTickets: 'Buy the tickets',
    claimPrize: 'Have the prize paid',
    refund: 'Have the money paid back',
    completeDraw: 'Pick the winner',
    cancelDraw: 'Cancel the draw',
    openCircle: 'Open the circle',
    join: 'Join the circle',
    contribute: 'Pay for the round',
    endRound: 'End the round',
    claimPayout: 'Have the pot paid',
    claimRefund: 'Have the money paid back',
    cancelCircle: 'Cancel the circle',
  })[step];

export function resultText(payment: Payment, token: Token | undefined): string {
  switch (payment.kind) {
    case 'deposit':
      return payment.amount && token
        ? `${withSymbol(payment.amount, token)} have arrived.`
        : 'It has arrived.';
    case 'withdraw':
      return token
        ? `${withSymbol(payment.amount, token)} are back in your wallet.`
        : 'It is in your wallet.';
    case 'claimYield':
      return 'The yield is in your wallet.';
    case 'startCompounding':
      return 'What you earn is paid in again from now on.';
    case 'stopCompounding':
      return 'What you earn waits for you from now on.';
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
    case 'openCircle':
      return 'The circle is open. It begins when all have joined.';
    case 'join':
      return 'You are in. The circle begins when all have joined.';
    case 'contribute':
      return 'This round is paid.';
    case 'endRound':
      return 'The round is over. The circle shows what came of it.';
    case 'claimPayout':
      return 'The pot is in your wallet.';
    case 'claimRefund':
      return 'Your money is back in your wallet.';
    case 'cancelCircle':
      return 'The circle is cancelled. Everyone can take back what they locked.';
  }
}
