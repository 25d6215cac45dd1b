import type { PaymentError } from './payments/errors.js';
import type { components } from './schema.js';

type Schemas = components['schemas'];

/** The service's names for its errors. Codes stay stable while messages may change. */
export type ErrorCode = Schemas['ErrorCode'];

/** For the types alone: what is sent counts, and a newer service may have more codes. */
interface Statuses extends Record<ErrorCode, number> {
  validation_failed: 400;
  invalid_json: 400;
  malformed_path: 400;
  bad_request: 400;
  deposit_below_minimum: 400;
  below_minimum: 400;
  invalid_token: 401;
  token_expired: 401;
  token_revoked: 401;
  authentication_failed: 401;
  unauthorized: 401;
  forbidden: 403;
  owner_cannot_leave: 403;
  sign_in_again: 403;
  cross_site_request: 403;
  not_found: 404;
  no_open_draw: 404;
  no_circle: 404;
  idempotency_in_progress: 409;
  transaction_not_pending: 409;
  wrong_draw_status: 409;
  too_early: 409;
  already_paid: 409;
  nothing_to_refund: 409;
  deposit_submitted: 409;
  insufficient_balance: 409;
  nothing_to_claim: 409;
  calls_unknown: 409;
  compounding_unchanged: 409;
  uses_circle: 409;
  circle_exists: 409;
  wrong_circle_state: 409;
  already_done: 409;
  too_late: 409;
  nothing_in_circle: 409;
  pool_exists: 409;
  pool_not_empty: 409;
  webhook_not_active: 409;
  webhook_test_pending: 409;
  conflict: 409;
  payload_too_large: 413;
  unsupported_media_type: 415;
  idempotency_key_reused: 422;
  pool_cancelled: 422;
  rate_limited_general: 429;
  rate_limited_auth: 429;
  rate_limited: 429;
  too_many_connections: 429;
  internal_error: 500;
  unavailable: 503;
  outcome_unknown: 503;
  busy: 503;
  chain_unknown: 503;
}

export interface ErrorDetail {
  readonly field: string;
  readonly message: string;
}

/** Known to every copy of this package: a page may have two, and a server one for `import` and one for `require`. */
const BRAND = Symbol.for('@pooled-savings/client.error');

/** What all errors of this client have in common. */
export abstract class ClientError extends Error {
  readonly [BRAND] = true;
  abstract readonly code: string;
  /** Key of a request that failed or got no answer: the request can be sent again with it. */
  idempotencyKey?: string;
}

/**
 * The service rejected the request, or would have. `error.code` is the reason, and `message` is for people. A newer
 * service may send a `code` that this version does not know: then `status` says what kind of error it is.
 */
export class ApiError<Code extends ErrorCode = ErrorCode> extends ClientError {
  override readonly name: string = 'ApiError';

  constructor(
    readonly code: Code,
    readonly status: Statuses[Code],
    message: string,
    /** The fields that broke a rule, for `validation_failed`. */
    readonly details: readonly ErrorDetail[],
    /** How long the service asks to wait, for statuses 429 and 503. */
    readonly retryAfterSeconds: number | undefined,
    /** Finds the request in the service's log. */
    readonly requestId: string | undefined,
  ) {
    super(message);
  }
}

/** No answer, or one that is not from the service. A request without a key may still have been carried out. */
export class NoAnswerError extends ClientError {
  override readonly name = 'NoAnswerError';
  readonly code = 'no_answer';

  constructor(
    message: string,
    /** Status of an answer from something in between, such as a proxy. */
    readonly status: number | undefined,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** The transaction was reverted: the contract rejected it. Only gas was paid. */
export class TransactionRevertedError extends ClientError {
  override readonly name = 'TransactionRevertedError';
  readonly code = 'transaction_reverted';

  constructor(
    /** Name of the call, such as `deposit`. */
    readonly call: string,
    readonly hash: `0x${string}`,
  ) {
    super(`the transaction of ${call} was reverted: ${hash}`);
  }
}

/** The wallet is on another chain than the service and did not switch. */
export class WrongChainError extends ClientError {
  override readonly name = 'WrongChainError';
  readonly code = 'wrong_chain';

  constructor(
    readonly expected: number,
    readonly actual: number,
    cause?: unknown,
  ) {
    super(`the wallet is on chain ${actual}, the service on ${expected}`, { cause });
  }
}

/** Not proven to come from the service, or too old: answer with 400 and do nothing. */
export class WebhookSignatureError extends ClientError {
  override readonly name = 'WebhookSignatureError';
  readonly code = 'webhook_signature';
}

/** No payment for the deposit came in time. */
export class DepositExpiredError extends ClientError {
  override readonly name = 'DepositExpiredError';
  readonly code = 'deposit_expired';

  constructor(readonly transactionId: string) {
    super(`the deposit has expired: ${transactionId}`);
  }
}

/**
 * All errors that this client creates, distinguished by `code`. Errors of a wallet or an AbortSignal are passed on
 * unchanged.
 */
export type SavingsError =
  | { [Code in ErrorCode]: ApiError<Code> }[ErrorCode]
  | NoAnswerError
  | TransactionRevertedError
  | WrongChainError
  | WebhookSignatureError
  | DepositExpiredError
  | PaymentError;

export const isSavingsError = (error: unknown): error is SavingsError =>
  typeof error === 'object' && error !== null && BRAND in error;

/** Turns an error answer into an error. The response's body must not have been read. */
export async function errorOf(response: Response): Promise<SavingsError> {
  const { status } = response;
  const body = (await response.json().catch(() => undefined)) as
    Partial<Schemas['ErrorResponse']> | undefined;
  const { success, code, error, details } = body ?? {};
  if (success !== false || typeof code !== 'string')
    return new NoAnswerError(`an answer that is not the service's, with status ${status}`, status);
  return new ApiError(
    code,
    status as Statuses[ErrorCode],
    error ?? code,
    details ?? [],
    retryAfterSeconds(response),
    response.headers.get('x-request-id') ?? undefined,
  ) as SavingsError;
}

/** RFC 9110 allows seconds or a date. Browsers show this header to other origins only if the service exposes it. */
export function retryAfterSeconds({ headers }: Response): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
