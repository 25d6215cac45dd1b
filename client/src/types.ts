import type { Client } from 'openapi-fetch';
import type { components, operations, paths } from './schema.js';

type Schemas = components['schemas'];

/** openapi-fetch over every path of the service; failures throw a `SavingsError`. */
export type Api = Client<paths>;

export type ClientConfig = Schemas['ClientConfig'];
export type SignedInUser = Schemas['SignedInUser'];
export type Me = Schemas['Profile'];
export type NewPool = Schemas['CreatePoolRequest'];
export type PoolChanges = Schemas['UpdatePoolRequest'];
export type UpdatedPool = Schemas['UpdatedPool'];
export type CreatedPool = Schemas['CreatedPool'];
export type PoolItem = Schemas['PoolItem'];
export type PoolDetail = Schemas['PoolDetail'];
export type YieldReport = Schemas['YieldReport'];
export type Transaction = Schemas['TransactionItem'];
export type TransactionDetail = Schemas['TransactionDetail'];
export type ContractCall = Schemas['ContractCall'];
export type CurrentDraw = Schemas['CurrentDraw'];
export type Winner = Schemas['Winner'];
export type PoolType = NewPool['type'];
export type Position = Schemas['PositionItem'];
export type PoolRounds = Schemas['PoolRounds'];
export type DrawEntry = Schemas['DrawEntry'];
export type PoolAnalytics = Schemas['PoolAnalytics'];
export type UserAnalytics = Schemas['UserAnalytics'];
/** What a start page shows, and the place in the stream of events from which it goes on. */
export type Start = Schemas['StartPage'];
export type Webhook = Schemas['WebhookItem'];
export type NewWebhook = Schemas['CreateWebhookRequest'];
export type CreatedWebhook = Schemas['CreatedWebhook'];
export type WebhookChanges = Schemas['UpdateWebhookRequest'];
export type RotatedSecret = Schemas['RotatedSecret'];
export type Delivery = Schemas['DeliveryItem'];

/** The query parameters of an operation. */
type QueryOf<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;
export type PoolsQuery = QueryOf<'pools_list'>;
export type TransactionsQuery = QueryOf<'transactions_list'>;
export type PositionsQuery = QueryOf<'positions_list'>;
export type DrawEntriesQuery = QueryOf<'tickets_list'>;
export type WebhooksQuery = QueryOf<'webhooks_list'>;
export type DeliveriesQuery = QueryOf<'webhooks_deliveries'>;
export type WinnersQuery = QueryOf<'lottery_winners'>;

export interface RequestOptions {
  signal?: AbortSignal;
}

/** A page of a list, as the service sends it. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly pagination?: Schemas['Pagination'];
  /** Cursor of the next page; null on the last page. */
  readonly next?: string | null;
}
