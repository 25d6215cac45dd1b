import { type Address, type Hex, encodeFunctionData } from 'viem';
import { bytes16 } from '#values/bytes16';
import { namedError } from '#platform/errors/errors';
import { NATIVE_COIN } from '#ledger/adapters/pool-contract';
import { lotteryPoolAbi, savingsPoolAbi, tokenAbi } from '#ledger/chain/contract.abi';
import { rotatingPoolAbi } from '#ledger/chain/rotating.abi';

const DRAW_CALLS = ['claimPrize', 'refund', 'completeDraw', 'cancelDraw'] as const;
export type DrawCall = (typeof DRAW_CALLS)[number];

/** Calls that name a circle, and may name the pending deposit that they pay. */
const CIRCLE_PAYMENTS = ['join', 'contribute', 'claimPayout', 'claimRefund'] as const;
const CIRCLE_MOVES = ['endRound', 'cancelCircle'] as const;
export type CircleCall = (typeof CIRCLE_PAYMENTS)[number] | (typeof CIRCLE_MOVES)[number];

export const CALL_NAMES = [
  'approve',
  'deposit',
  'withdraw',
  'claimYield',
  'startCompounding',
  'stopCompounding',
  'buyTickets',
  ...DRAW_CALLS,
  'openCircle',
  ...CIRCLE_PAYMENTS,
  ...CIRCLE_MOVES,
] as const;
export type CallName = (typeof CALL_NAMES)[number];

/** What a wallet sends, without the chain id: the same on every chain. */
export interface EncodedCall {
  name: CallName;
  to: Address;
  data: Hex;
  /** In wei. */
  value?: bigint;
}

/** Reference for calls that pay no announced transaction. */
const NO_REFERENCE: Hex = `0x${'0'.repeat(32)}`;

/**
 * Allows a contract to take exactly this amount of the caller's tokens.
 * @throws ApiError 409 for the chain's own coin, which no contract with the service's own calls takes
 */
export function approve(token: Address, spender: Address, amount: bigint): EncodedCall {
  if (token === NATIVE_COIN) throw namedError('calls_unknown');
  const data = encodeFunctionData({ abi: tokenAbi, functionName: 'approve', args: [spender, amount] });
  return { name: 'approve', to: token, data };
}

/** @param transaction id of the pending deposit that it pays */
export const deposit = (
  contract: Address,
  pool: string,
  amount: bigint,
  transaction?: string,
): EncodedCall => ({
  name: 'deposit',
  to: contract,
  data: encodeFunctionData({
    abi: savingsPoolAbi,
    functionName: 'deposit',
    args: [bytes16(pool), transaction === undefined ? NO_REFERENCE : bytes16(transaction), amount],
  }),
});

export const withdraw = (contract: Address, pool: string, amount: bigint): EncodedCall => ({
  name: 'withdraw',
  to: contract,
  data: encodeFunctionData({
    abi: savingsPoolAbi,
    functionName: 'withdraw',
    args: [bytes16(pool), NO_REFERENCE, amount],
  }),
});

export const claimYield = (contract: Address, pool: string): EncodedCall => ({
  name: 'claimYield',
  to: contract,
  data: encodeFunctionData({
    abi: savingsPoolAbi,
    functionName: 'claimYield',
    args: [bytes16(pool), NO_REFERENCE],
  }),
});

/** Whether anyone may pay the sender's yield in again, from now on. */
export const setCompounding = (contract: Address, pool: string, enabled: boolean): EncodedCall => {
  const name = enabled ? 'startCompounding' : 'stopCompounding';
  const data = encodeFunctionData({ abi: savingsPoolAbi, functionName: name, args: [bytes16(pool)] });
  return { name, to: contract, data };
};

export const buyTickets = (contract: Address, drawId: bigint, count: bigint): EncodedCall => ({
  name: 'buyTickets',
  to: contract,
  data: encodeFunctionData({ abi: lotteryPoolAbi, functionName: 'buyTickets', args: [drawId, count] }),
});

/** Calls that only name a draw. Anyone may send them; a refund goes to the sender, a prize to the winner. */
export const ofDraw = (name: DrawCall, contract: Address, drawId: bigint): EncodedCall => ({
  name,
  to: contract,
  data: encodeFunctionData({ abi: lotteryPoolAbi, functionName: name, args: [drawId] }),
});

/** What the members of a circle agree on. Amounts in smallest token units, times in seconds. */
interface CircleTerms {
  contribution: bigint;
  collateral: bigint;
  period: number;
  joinBy: bigint;
  /** In the order of their turns. */
  members: Address[];
}

export const openCircle = (contract: Address, pool: string, terms: CircleTerms): EncodedCall => ({
  name: 'openCircle',
  to: contract,
  data: encodeFunctionData({
    abi: rotatingPoolAbi,
    functionName: 'openCircle',
    args: [bytes16(pool), terms.contribution, terms.collateral, terms.period, terms.joinBy, terms.members],
  }),
});

/** @param transaction id of the pending deposit that it pays */
export const ofCircle = (
  name: CircleCall,
  contract: Address,
  circleId: bigint,
  transaction?: string,
): EncodedCall => {
  const ref = transaction === undefined ? NO_REFERENCE : bytes16(transaction);
  const data =
    name === 'endRound' || name === 'cancelCircle'
      ? encodeFunctionData({ abi: rotatingPoolAbi, functionName: name, args: [circleId] })
      : encodeFunctionData({ abi: rotatingPoolAbi, functionName: name, args: [circleId, ref] });
  return { name, to: contract, data };
};
