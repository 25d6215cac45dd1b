export { formatAmount, parseAmount } from './amounts.js';
export type { AmountFormat, AmountProblem, AmountRules, ParsedAmount } from './amounts.js';
export { SavingsClient } from './client.js';
export type { ClientOptions, ClientSignInOptions, DrawToCall, PayOptions } from './client.js';
export {
  AccountMismatchError,
  ApiError,
  ContractError,
  DepositBelowMinimumError,
  DepositExpiredError,
  DepositSubmittedError,
  InsufficientEtherError,
  InsufficientTokensError,
  NoAnswerError,
  PaymentUnknownError,
  TransactionCancelledError,
  TransactionDroppedError,
  TransactionReplacedError,
  TransactionRevertedError,
  WebhookSignatureError,
  WrongChainError,
  isSavingsError,
} from './errors.js';
export type { ErrorCode, ErrorDetail, PaymentError, SavingsError } from './errors.js';
export type { EventOf, EventPayload, EventsOptions, ReloadEvent, SavingsEvent, Topic } from './events.js';
export { Follower } from './live/follower.js';
export type { FollowState } from './live/follower.js';
export type { ConnectionState } from './connection.js';
export type { Observable } from './observable.js';
export type { SessionEnd, SessionState } from './session.js';
export type { TabTools } from './tabs.js';
export { NATIVE_COIN } from './payments/allowance.js';
export type { PaymentCheck } from './payments/check.js';
export type { PaymentKind, PaymentRequest } from './payments/kinds.js';
export { isSent, isUnderWay, memoryPayments, webPayments } from './payments/payment.js';
export type { Payment, PaymentState, PaymentStep, PaymentStore } from './payments/payment.js';
export type { Payments } from './payments/payments.js';
export { isRejection } from './payments/wallet-errors.js';
export type { SendOptions } from './payments/run.js';
export { sendCalls } from './payments/send.js';
export type { CreateOptions } from './resources.js';
export type { components, operations, paths } from './schema.js';
export { memoryTokens, webTokens } from './tokens.js';
export type { TokenStore } from './tokens.js';
export type { RetryOptions } from './transport.js';
export type * from './types.js';
export type { WebhookChallenge, WebhookNotice, WebhookPayload } from './webhooks.js';
/** @deprecated Import it from `@pooled-savings/client/webhooks`, which works without viem. */
export { verifyWebhook } from './webhooks.js';
export type { Payer, Signer, SigningAccount, WalletProvider } from './wallet.js';
