import type { components } from './schema.js';

type Schemas = components['schemas'];
// As viem has them, which servers that only verify webhooks do not install.
type Address = `0x${string}`;
type Hash = `0x${string}`;

/** The service's names for its errors. Codes stay stable while messages may change. */
export type ErrorCode = Schemas['ErrorCode'];

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
    readonly status: number,
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
    readonly hash: Hash,
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

/** The wallet has not the account that is signed in. Nothing was sent. */
export class AccountMismatchError extends ClientError {
  override readonly name = 'AccountMismatchError';
  readonly code = 'account_mismatch';

  constructor(
    /** The account that is signed in. */
    readonly expected: Address,
    /** The wallet's. */
    readonly actual: Address | undefined,
  ) {
    super(`signed in as ${expected}, but the wallet's account is ${actual ?? 'none'}`);
  }
}

/** This deposit is being paid already. Its transaction is on its way, or was not seen by the service yet. */
export class DepositSubmittedError extends ApiError<'deposit_submitted'> {
  override readonly name = 'DepositSubmittedError';

  constructor(
    readonly transactionId: string,
    /** undefined while the wallet is still asked. */
    readonly hash: Hash | undefined,
  ) {
    const message = `the deposit ${transactionId} is being paid: ${hash ?? 'the wallet asks for confirmation'}`;
    super('deposit_submitted', 409, message, [], undefined, undefined);
  }
}

/** The wallet sent something else in the place of the transaction, which will never be carried out. */
export class TransactionReplacedError extends ClientError {
  override readonly name = 'TransactionReplacedError';
  readonly code = 'transaction_replaced';

  constructor(
    readonly call: string,
    readonly hash: Hash,
    readonly replacement: Hash,
  ) {
    super(`${replacement} took the place of the transaction of ${call}: ${hash}`);
  }
}

/** The transaction was cancelled in the wallet, and will never be carried out. */
export class TransactionCancelledError extends ClientError {
  override readonly name = 'TransactionCancelledError';
  readonly code = 'transaction_cancelled';

  constructor(
    readonly call: string,
    readonly hash: Hash,
    /** The empty transaction that took its place. */
    readonly replacement: Hash,
  ) {
    super(`the transaction of ${call} was cancelled: ${hash}`);
  }
}

/** The chain has lost the transaction, or another one that cannot be found took its place. */
export class TransactionDroppedError extends ClientError {
  override readonly name = 'TransactionDroppedError';
  readonly code = 'transaction_dropped';

  constructor(
    readonly call: string,
    readonly hash: Hash,
  ) {
    super(`the chain does not know the transaction of ${call} any more: ${hash}`);
  }
}

/** The account has fewer tokens than it wants to pay, in smallest units. */
export class InsufficientTokensError extends ClientError {
  override readonly name = 'InsufficientTokensError';
  readonly code = 'insufficient_tokens';
  readonly missing: bigint;

  constructor(
    readonly balance: bigint,
    readonly needed: bigint,
  ) {
    super(`the account has ${balance} token units of ${needed}`);
    this.missing = needed - balance;
  }
}

/** The account cannot pay for gas, and for what it pays in of the chain's own coin, in wei. */
export class InsufficientEtherError extends ClientError {
  override readonly name = 'InsufficientEtherError';
  readonly code = 'insufficient_ether';
  readonly missing: bigint;

  constructor(
    readonly balance: bigint,
    /** An estimate. */
    readonly needed: bigint,
  ) {
    super(`the account has ${balance} wei, and needs about ${needed} with gas`);
    this.missing = needed - balance;
  }
}

/** Less than the service asks for a pool's first deposit, or than the contract takes. */
export class DepositBelowMinimumError extends ApiError<'deposit_below_minimum'> {
  override readonly name = 'DepositBelowMinimumError';

  constructor(
    readonly minimum: bigint,
    readonly amount: bigint,
  ) {
    const message = `${amount} is less than the minimum, ${minimum}`;
    super('deposit_below_minimum', 400, message, [], undefined, undefined);
  }
}

/** The contract refuses the call, by an error of its ABI. `name` is the error's, such as `InsufficientBalance`. */
export class ContractError extends ClientError {
  readonly code = 'contract_error';

  constructor(
    /** Name of the call, such as `withdraw`. */
    readonly call: string,
    override readonly name: string,
    /** By their names in the ABI, or by their places where they have none. */
    readonly args: Readonly<Record<string, unknown>>,
    cause?: unknown,
  ) {
    super(`${call} is refused by the contract: ${name}(${Object.values(args).map(String).join(', ')})`, {
      cause,
    });
  }
}

/** The store has no such payment: it was dismissed, or is that of another account. */
export class PaymentUnknownError extends ClientError {
  override readonly name = 'PaymentUnknownError';
  readonly code = 'payment_unknown';

  constructor(readonly paymentId: string) {
    super(`no payment ${paymentId}`);
  }
}

export type PaymentError =
  | AccountMismatchError
  | DepositSubmittedError
  | TransactionReplacedError
  | TransactionCancelledError
  | TransactionDroppedError
  | InsufficientTokensError
  | InsufficientEtherError
  | DepositBelowMinimumError
  | ContractError
  | PaymentUnknownError;

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
