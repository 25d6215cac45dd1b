import { type ErrorCode, type SessionEnd, isSavingsError } from '@pooled-savings/client';

const MINUTE_SECONDS = 60;

/** Messages for the user, by the service's stable `code`. */
const BY_CODE: Partial<Record<ErrorCode, string>> = {
  deposit_below_minimum: 'That is less than the smallest deposit of a new pool.',
  transaction_not_pending: 'This deposit is already paid, or has expired.',
  no_open_draw: 'No draw is open at the moment.',
  chain_unknown: 'The service has not read its chain yet. Please try again in a moment.',
  authentication_failed: 'The signature was not accepted. Please sign in again.',
  token_expired: 'Your session has ended. Please sign in again.',
  token_revoked: 'Your session was ended. Please sign in again.',
  invalid_token: 'Your session is not valid any more. Please sign in again.',
  cross_site_request: 'The service does not accept requests from this page.',
  unavailable: 'The service cannot be reached at the moment.',
  busy: 'The service is busy. Please try again in a moment.',
};

export interface Problem {
  code: string;
  text: string;
}

/** Messages for the contract errors that a saver can meet. */
const REVERTS: [RegExp, string][] = [
  [/0xe450d38c|InsufficientBalance|exceeds balance/, 'The wallet does not hold enough tokens.'],
  [
    /insufficient funds|gas required exceeds|exceeds the balance of the account/i,
    'The wallet has no ether to pay for the transaction.',
  ],
  [/DrawTimePassed/, 'This draw sells no more tickets.'],
];

export function problemOf(error: unknown): Problem {
  if (isSavingsError(error)) {
    const retry = 'retryAfterSeconds' in error ? error.retryAfterSeconds : undefined;
    if (error.code.startsWith('rate_limited'))
      return { code: error.code, text: `Too many requests. Please try again in ${waitText(retry)}.` };
    if (error.code === 'validation_failed' && 'details' in error)
      return {
        code: error.code,
        text: error.details.map(({ field, message }) => `${field} ${message}`).join('; '),
      };
    const known = BY_CODE[error.code as ErrorCode];
    return { code: error.code, text: known ?? sentence(error.message) };
  }
  const {
    code,
    message = String(error),
    shortMessage,
    details,
  } = error as Error & { code?: unknown; shortMessage?: string; details?: string };
  if (isRejection(error)) return { code: 'wallet_rejected', text: 'You declined in the wallet.' };
  const whole = `${message} ${details}`;
  const revert = REVERTS.find(([pattern]) => pattern.test(whole));
  return {
    code: typeof code === 'number' ? `wallet_${code}` : 'wallet_error',
    text: revert?.[1] ?? sentence(shortMessage ?? message),
  };
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

/** EIP-1193 code 4001. Libraries wrap the wallet's error. */
function isRejection(error: unknown): boolean {
  for (let each = error; each !== undefined && each !== null; each = (each as Error).cause)
    if ((each as { code?: unknown }).code === 4001) return true;
  return false;
}

const waitText = (seconds = MINUTE_SECONDS): string =>
  seconds < MINUTE_SECONDS
    ? `${Math.ceil(seconds)} seconds`
    : `${Math.ceil(seconds / MINUTE_SECONDS)} minutes`;

const sentence = (text: string): string => {
  const line = text.split('\n')[0].trim();
  return `${line.charAt(0).toUpperCase()}${line.slice(1)}${/[.!?]$/.test(line) ? '' : '.'}`;
};
