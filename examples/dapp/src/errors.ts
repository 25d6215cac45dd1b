import {
  type ErrorCode,
  type SavingsError,
  type SessionEnd,
  isRejection,
  isSavingsError,
} from '@pooled-savings/client';
import { type Token, shortAddress, withSymbol } from './format.js';

const MINUTE_SECONDS = 60;

/** Messages for the user, by the stable `code` of service and client. */
const BY_CODE: Partial<Record<ErrorCode | SavingsError['code'] | 'wallet', string>> = {
  account_mismatch: 'Your wallet is on another account than the one you signed in with. Nothing was sent.',
  already_paid: 'The prize is already paid.',
  authentication_failed: 'The signature was not accepted. Please sign in again.',
  below_minimum: 'That is less than the contract takes.',
  already_done: 'That is done already.',
  busy: 'The service is busy. Please try again in a moment.',
  calls_unknown:
    'This pool is in a contract with calls of its own: pay in and take out there. Here you see what comes of it.',
  chain_unknown: 'The service has not read its chain yet. Please try again in a moment.',
  circle_exists: 'The circle is open already.',
  compounding_unchanged: 'This setting is already in effect.',
  contract_refuses: 'The contract does not take that now. Nothing was sent.',
  cross_site_request: 'The service does not accept requests from this page.',
  deposit_below_minimum: 'That is less than the smallest deposit.',
  deposit_submitted: 'This is being paid already, as far as is known. It shows here once the chain has it.',
  forbidden: 'This is not yours to do.',
  insufficient_balance: 'You have less than that in the pool.',
  insufficient_ether: 'Your wallet has too little to pay the fee of the chain.',
  insufficient_tokens: 'Your wallet has too few tokens.',
  invalid_token: 'Your session is not valid any more. Please sign in again.',
  no_answer: 'The service does not answer. Please try again in a moment.',
  no_circle: 'There is no circle here.',
  no_open_draw: 'No draw is open at the moment.',
  nothing_in_circle: 'There is nothing for you to take at the moment.',
  nothing_to_claim: 'There is no yield to claim.',
  nothing_to_refund: 'Your money is back already.',
  pool_exists: 'You have a pool of this kind already, and its contract keeps one for each account.',
  pool_not_empty: 'Money was paid into this pool, so it stays.',
  too_early: 'It is too early for that.',
  token_expired: 'Your session has ended. Please sign in again.',
  token_revoked: 'Your session was ended. Please sign in again.',
  too_late: 'The time for that is over.',
  transaction_cancelled: 'You have cancelled it in your wallet. Nothing was paid.',
  transaction_dropped: 'The chain does not know it any more. Nothing was paid.',
  transaction_not_pending: 'This deposit is already paid, or has expired.',
  transaction_replaced: 'Your wallet sent something else in its place. Nothing was paid.',
  transaction_reverted: 'The contract refused it. Only the fee was paid.',
  uses_circle: 'Money moves through the circle here.',
  unavailable: 'The service cannot be reached at the moment.',
  wrong_circle_state: 'The circle has moved on.',
  wrong_chain: 'Your wallet is on another chain, and did not change over. Nothing was sent.',
  wrong_draw_status: 'The draw has moved on.',
};

/** What the contracts refuse, by the names of their errors. */
const BY_CONTRACT: Record<string, string> = {
  AlreadyJoined: 'You have joined already.',
  AlreadyPaid: 'You have paid this round already.',
  BelowMinimum: 'That is less than the contract takes.',
  DrawTimePassed: 'This draw sells no more tickets.',
  ERC20InsufficientBalance: 'Your wallet has too few tokens.',
  InsufficientBalance: 'You have less than that in the pool.',
  NotAllowed: 'That is not yours to do, or not yet.',
  NotMember: 'The circle does not name you.',
  NothingToChange: 'This setting is already in effect.',
  NothingToClaim: 'There is nothing to claim.',
  NothingToRefund: 'Your money is back already.',
  PoolFull: 'The pool cannot hold that much.',
  TooEarly: 'It is too early for that.',
  TooLate: 'The time for that is over.',
  WrongJoinBy: 'The time to join is too short, or longer than a year.',
  WrongMember: 'One of the members is named twice, or is no account.',
  WrongMemberCount: 'A circle has 2 to 32 members.',
  WrongPeriod: 'A round takes an hour at least, and a year at most.',
  WrongStatus: 'It has moved on meanwhile.',
};

export interface Problem {
  code: string;
  text: string;
}

/** @param token writes amounts as the user knows them */
export function problemOf(error: unknown, token?: Token): Problem {
  if (error instanceof Refused) return error.problem;
  if (isSavingsError(error)) return { code: error.code, text: savingsText(error, token) };
  const { code, message = String(error), shortMessage } = error as WalletError;
  if (isRejection(error)) return { code: 'wallet_rejected', text: 'You declined in the wallet.' };
  return {
    code: typeof code === 'number' ? `wallet_${code}` : 'wallet_error',
    text: sentence(shortMessage ?? message),
  };
}

/** Ends a job with a problem that is known already. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.text);
  }
}

type WalletError = Error & { code?: unknown; shortMessage?: string };

function savingsText(error: SavingsError, token?: Token): string {
  const { code } = error;
  if (code === 'validation_failed')
    return error.details.map(({ field, message }) => `${field} ${message}`).join('; ');
  if (code === 'rate_limited' || code === 'rate_limited_auth' || code === 'rate_limited_general')
    return `Too many requests. Please try again in ${waitText(error.retryAfterSeconds)}.`;
  if (code === 'contract_error') return BY_CONTRACT[error.name] ?? `The contract refuses it: ${error.name}.`;
  if (code === 'insufficient_tokens' && token) return `Your wallet has ${withSymbol(error.balance, token)}.`;
  if (code === 'deposit_below_minimum' && 'minimum' in error && token)
    return `At least ${withSymbol(error.minimum, token)}`;
  if (code === 'account_mismatch' && error.actual) {
    const [actual, expected] = [error.actual, error.expected].map(shortAddress);
    return `Your wallet is on ${actual}, and you signed in as ${expected}. Nothing was sent.`;
  }
  return textOf(code, error.message);
}

/** Why there is no session any more; it was not ended here. */
export const endedProblem = (ended: SessionEnd): Problem => ({
  code: ended,
  text:
    ended === 'signed_out' ? 'You have signed out in another tab.' : textOf(ended, 'Your session has ended.'),
});

/** What to tell about an error of which only the code is known. */
export const textOf = (code: string, otherwise: string): string =>
  BY_CODE[code as ErrorCode] ?? sentence(otherwise);

const waitText = (seconds = MINUTE_SECONDS): string =>
  seconds < MINUTE_SECONDS
    ? `${Math.ceil(seconds)} seconds`
    : `${Math.ceil(seconds / MINUTE_SECONDS)} minutes`;

const sentence = (text: string): string => {
  const line = text.split('\n')[0].trim();
  return `${line.charAt(0).toUpperCase()}${line.slice(1)}${/[.!?]$/.test(line) ? '' : '.'}`;
};
