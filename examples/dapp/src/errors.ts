import { type SavingsError, type SessionEnd, isRejection, isSavingsError } from '@pooled-savings/client';
import { type Token, shortAddress, withSymbol } from './format.js';

/** Messages for the user, by the stable `code` of service and client. For other codes the service's own text is shown. */
const BY_CODE: Partial<Record<SavingsError['code'], string>> = {
  account_mismatch: 'Your wallet is on another account than the one you signed in with. Nothing was sent.',
  authentication_failed: 'The signature was not accepted. Please sign in again.',
  below_minimum: 'That is less than the contract takes.',
  busy: 'The service is busy. Please try again in a moment.',
  calls_unknown:
    'This pool is in a contract with calls of its own: pay in and take out there. Here you see what comes of it.',
  chain_unknown: 'The service has not read its chain yet. Please try again in a moment.',
  contract_refuses: 'The contract does not take that now. Nothing was sent.',
  cross_site_request: 'The service does not accept requests from this page.',
  deposit_below_minimum: 'That is less than the smallest deposit.',
  deposit_submitted: 'This is being paid already, as far as is known. It shows here once the chain has it.',
  insufficient_ether: 'Your wallet has too little to pay the fee of the chain.',
  insufficient_tokens: 'Your wallet has too few tokens.',
  invalid_token: 'Your session is not valid any more. Please sign in again.',
  no_answer: 'The service does not answer. Please try again in a moment.',
  pool_exists: 'You have a pool of this kind already, and its contract keeps one for each account.',
  token_expired: 'Your session has ended. Please sign in again.',
  token_revoked: 'Your session was ended. Please sign in again.',
  transaction_cancelled: 'You have cancelled it in your wallet. Nothing was paid.',
  transaction_dropped: 'The chain does not know it any more. Nothing was paid.',
  transaction_replaced: 'Your wallet sent something else in its place. Nothing was paid.',
  transaction_reverted: 'The contract refused it. Only the fee was paid.',
  unavailable: 'The service cannot be reached at the moment.',
  wrong_chain: 'Your wallet is on another chain, and did not change over. Nothing was sent.',
};

/** What the contracts refuse although the page offers it, by the names of their errors. */
const BY_CONTRACT: Record<string, string> = {
  BelowMinimum: 'That is less than the contract takes.',
  DrawTimePassed: 'This draw sells no more tickets.',
  ERC20InsufficientBalance: 'Your wallet has too few tokens.',
  InsufficientBalance: 'You have less than that in the pool.',
  NotAllowed: 'That is not yours to do, or not yet.',
  NothingToClaim: 'There is nothing to claim.',
  PoolFull: 'The pool cannot hold that much.',
  TooEarly: 'It is too early for that.',
  TooLate: 'The time for that is over.',
  WrongMember: 'One of the members is named twice, or is no account.',
  WrongStatus: 'It has moved on meanwhile.',
};

export interface Problem {
  code: string;
  text: string;
}

/** @param token writes amounts as the user knows them */
export function problemOf(error: unknown, token?: Token): Problem {
  if (isSavingsError(error)) return { code: error.code, text: savingsText(error, token) };
  if (isRejection(error)) return { code: 'wallet_rejected', text: 'You declined in the wallet.' };
  const { code, message = String(error), shortMessage = message } = error as WalletError;
  return { code: typeof code === 'number' ? `wallet_${code}` : 'wallet_error', text: sentence(shortMessage) };
}

type WalletError = Error & { code?: unknown; shortMessage?: string };

function savingsText(error: SavingsError, token?: Token): string {
  if (error.code === 'validation_failed')
    return error.details.map(({ field, message }) => `${field} ${message}`).join('; ');
  if (/^rate_limited/.test(error.code) && 'retryAfterSeconds' in error)
    return `Too many requests. Please try again in ${Math.ceil(error.retryAfterSeconds ?? 60)} seconds.`;
  if (error.code === 'contract_error')
    return BY_CONTRACT[error.name] ?? `The contract refuses it: ${error.name}.`;
  if (error.code === 'insufficient_tokens' && token)
    return `Your wallet has ${withSymbol(error.balance, token)}.`;
  if (error.code === 'deposit_below_minimum' && 'minimum' in error && token)
    return `At least ${withSymbol(error.minimum, token)}`;
  if (error.code === 'account_mismatch' && error.actual)
    return `Your wallet is on ${shortAddress(error.actual)}, and you signed in as ${shortAddress(error.expected)}. Nothing was sent.`;
  return textOf(error.code, error.message);
}

/** Why there is no session any more; it was not ended here. */
export const endedProblem = (ended: SessionEnd): Problem => ({
  code: ended,
  text:
    ended === 'signed_out' ? 'You have signed out in another tab.' : textOf(ended, 'Your session has ended.'),
});

/** What to say about an error of which only the code is known. */
export const textOf = (code: string, otherwise: string): string =>
  BY_CODE[code as SavingsError['code']] ?? sentence(otherwise);

const sentence = (text: string): string => {
  const line = text.split('\n')[0].trim();
  return `${line.charAt(0).toUpperCase()}${line.slice(1)}${/[.!?]$/.test(line) ? '' : '.'}`;
};
