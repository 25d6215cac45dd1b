export { formatAmount, parseAmount } from './amounts.js';
export type { AmountFormat, AmountProblem, AmountRules, ParsedAmount } from './amounts.js';
export { SavingsClient } from './client.js';
export type { ClientOptions, ClientSignInOptions, PayOptions } from './client.js';
export {
  ApiError,
  DepositExpiredError,
  NoAnswerError,
  TransactionRevertedError,
  WebhookSignatureError,
  WrongChainError,
  isSavingsError,
} from './errors.js';
export type { ErrorCode, ErrorDetail, SavingsError } from './errors.js';
export type { EventPayload, EventsOptions, ReloadEvent, SavingsEvent, Topic } from './events.js';
export { sendCalls } from './payments.js';
export type { SendOptions } from './payments.js';
export type { CreateOptions } from './resources.js';
export type { components, operations, paths } from './schema.js';
export { memoryTokens, webTokens } from './tokens.js';
export type { TokenStore } from './tokens.js';
export type { RetryOptions } from './transport.js';
export type * from './types.js';
export type { WebhookChallenge, WebhookNotice, WebhookPayload } from './webhooks.js';
export { verifyWebhook } from './webhooks.js';
export type { Payer, Signer, SigningAccount, WalletProvider } from './wallet.js';
