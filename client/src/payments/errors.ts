import { ApiError, ClientError } from '../errors.js';
import type { Address, Hash } from 'viem';

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

/** The account cannot pay for gas, in wei. */
export class InsufficientEtherError extends ClientError {
  override readonly name = 'InsufficientEtherError';
  readonly code = 'insufficient_ether';
  readonly missing: bigint;

  constructor(
    readonly balance: bigint,
    /** An estimate. */
    readonly needed: bigint,
  ) {
    super(`the account has ${balance} wei, and gas costs about ${needed}`);
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
