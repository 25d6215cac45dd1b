import type { Type } from '@nestjs/common';
import { ApiProperty, IntersectionType, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { ApiAddress, ApiAmount, ApiId, ApiInteger } from '#platform/openapi/fields';
import { TRANSACTION_TYPES, type TransactionType } from '#values/types';

/**
 * What events are about, in the order in which they happen to a pool and to a draw, and who may read each: the owner and
 * the members of its pool, and the account that it is about (`pool`), that account alone (`account`), everyone (`all`),
 * or those who may read the event that it takes back (`reverted`).
 */
export const AUDIENCES = {
  reload: 'all',
  'pool.created': 'pool',
  'deposit.submitted': 'pool',
  'deposit.confirmed': 'pool',
  'withdrawal.confirmed': 'pool',
  'yield.accrued': 'pool',
  'yield.claimed': 'pool',
  'deposit.expired': 'pool',
  'pool.cancelled': 'pool',
  'transaction.reverted': 'reverted',
  'draw.opened': 'all',
  'tickets.issued': 'account',
  'draw.closed': 'all',
  'draw.completed': 'all',
  'draw.cancelled': 'all',
  'prize.paid': 'account',
  'draw.refunded': 'account',
  'circle.opened': 'pool',
  'circle.started': 'pool',
  'circle.round_ended': 'pool',
  'circle.completed': 'pool',
  'circle.cancelled': 'pool',
  'webhook.paused': 'account',
  'webhook.disabled': 'account',
  'webhook.resumed': 'account',
} as const satisfies Record<string, 'pool' | 'account' | 'all' | 'reverted'>;
export type Topic = keyof typeof AUDIENCES;
export const TOPICS = Object.keys(AUDIENCES) as Topic[];

/** The position on the chain, by which the events of one database transaction are sorted. */
class ChainPayload {
  @ApiInteger() blockNumber: number;
  @ApiInteger('Log index, plus 2,097,152 for its second event') logIndex: number;
  @ApiProperty({
    description:
      'Whether the block was final when the event was published, so that no reorganisation can revert it. An event becomes final without another one, unless `transaction.reverted` follows',
  })
  final: boolean;
}

class ReloadPayload {
  @ApiInteger('First block whose events are published', { example: 19_000_000 }) publishedFrom: number;
}

/** A row of the ledger. Amounts are decimal strings of the smallest token unit, addresses are lower-cased. */
class TransactionPayload extends ChainPayload {
  @ApiId() poolId: string;
  @ApiId() transactionId: string;
  @ApiProperty({ enum: TRANSACTION_TYPES }) transactionType: TransactionType;
  @ApiProperty() txHash: string;
  @ApiAddress('Account that paid, withdrew or claimed') account: string;
  @ApiAmount() amount: string;
}

/** The owner's account. For POST /pools also the announced PENDING deposit, which is not on the chain yet. */
class PoolPayload extends IntersectionType(
  PickType(TransactionPayload, ['poolId', 'account']),
  PartialType(PickType(TransactionPayload, ['transactionId', 'transactionType', 'amount'])),
) {
  @ApiAddress('Contract of the pool, which never changes; amounts are in its token, which GET /config names')
  contract: string;
}

class SubmittedPayload extends PickType(TransactionPayload, [
  'poolId',
  'transactionId',
  'account',
  'amount',
]) {
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Submitted hash; null if it was cleared or failed',
  })
  txHash: string | null;
}

class AccrualPayload extends PickType(TransactionPayload, [
  'poolId',
  'blockNumber',
  'logIndex',
  'final',
  'amount',
]) {}

class ExpiryPayload extends OmitType(TransactionPayload, ['txHash', 'blockNumber', 'logIndex', 'final']) {}

class DrawPayload extends ChainPayload {
  @ApiInteger() drawId: number;
  @ApiAddress('Lottery contract; draw ids are unique only within it')
  contract: string;
  @ApiProperty() txHash: string;
}

class TicketsPayload extends DrawPayload {
  @ApiAddress() account: string;
  @ApiAmount('Number of tickets of this purchase') tickets: string;
}

class WinnerPayload extends DrawPayload {
  @ApiAddress() winner: string;
  @ApiAmount() prize: string;
}

class PayoutPayload extends DrawPayload {
  @ApiAddress('Account that received it') account: string;
  @ApiAmount() amount: string;
}

class CirclePayload extends ChainPayload {
  @ApiId() poolId: string;
  @ApiInteger('Number of the circle within its contract', { example: 1 })
  circleId: number;
  @ApiAddress() contract: string;
  @ApiProperty() txHash: string;
}

class OpenedPayload extends CirclePayload {
  @ApiAddress('Account that opened the circle: the owner of the pool')
  account: string;
  @ApiAmount('Contribution of each member in a round') amount: string;
}

class RoundPayload extends CirclePayload {
  @ApiInteger('Number of the round, from 0', { example: 0 }) round: number;
  @ApiAddress('Member whose turn it was') account: string;
  @ApiAmount('Pot that the account can claim') amount: string;
}

/** The other fields are those of the event that was taken back. */
class RevertedPayload extends PartialType(
  OmitType(
    IntersectionType(
      IntersectionType(TransactionPayload, RoundPayload),
      IntersectionType(TicketsPayload, WinnerPayload),
    ),
    ['final'],
  ),
) {
  @ApiProperty({ enum: TOPICS, enumName: 'Topic', example: 'deposit.confirmed' }) reverted: Topic;
}

class WebhookPayload {
  @ApiAddress('Owner of the webhook') account: string;
  @ApiId() webhookId: string;
}

class FailurePayload extends WebhookPayload {
  @ApiProperty({ description: 'Reason of the last failure', example: 'the server answered 503' })
  reason: string;
}

/**
 * The fields of each topic beside `id`, `topic` and `occurredAt`, and what it means: a few words, and more after them. The
 * service's code, the document and the client's types have them from here.
 */
export const PAYLOADS = {
  reload: [
    ReloadPayload,
    'Events were left out: read again what you keep. The indexer has read blocks older than seven days, whose events are not published one by one',
  ],
  'pool.created': [PoolPayload, 'A pool was created, by POST /pools or by its first payment'],
  'deposit.submitted': [
    SubmittedPayload,
    'The payment of a deposit was submitted, or cleared. Only the account that pays can do either',
  ],
  'deposit.confirmed': [TransactionPayload, 'A payment into a pool is on the chain'],
  'withdrawal.confirmed': [TransactionPayload, 'A withdrawal from a pool is on the chain'],
  'yield.accrued': [AccrualPayload, 'A pool has earned'],
  'yield.claimed': [TransactionPayload, 'A member has claimed yield'],
  'deposit.expired': [ExpiryPayload, 'A deposit was not paid in time. A late payment still confirms it'],
  'pool.cancelled': [
    PoolPayload,
    'A pool that was never paid into was cancelled. If a payment arrives within 30 days, `pool.created` comes again',
  ],
  'transaction.reverted': [
    RevertedPayload,
    'A reorganisation reverted an event. `reverted` is its topic, the other fields are those of the event',
  ],
  'draw.opened': [DrawPayload, 'A draw has opened'],
  'tickets.issued': [TicketsPayload, 'The caller has bought tickets'],
  'draw.closed': [DrawPayload, 'A draw has closed. It comes again if nobody picks the winner in time'],
  'draw.completed': [WinnerPayload, 'A draw has a winner'],
  'draw.cancelled': [DrawPayload, 'A draw was cancelled'],
  'prize.paid': [PayoutPayload, 'The prize of a draw was paid out'],
  'draw.refunded': [
    PayoutPayload,
    'A cancelled draw refunded the caller. The amount is what the caller paid, for tickets and as gifts',
  ],
  'circle.opened': [OpenedPayload, 'A circle has opened: the named members can join'],
  'circle.started': [CirclePayload, 'All members have joined a circle: its first round starts'],
  'circle.round_ended': [
    RoundPayload,
    'A round of a circle is over. The pot belongs to the member whose turn it was',
  ],
  'circle.completed': [CirclePayload, 'Every member of a circle has had a turn'],
  'circle.cancelled': [CirclePayload, 'A circle was cancelled. Its members can claim what they have in it'],
  'webhook.paused': [
    FailurePayload,
    'A webhook of the caller is paused after repeated failures. Little is sent until it answers',
  ],
  'webhook.disabled': [FailurePayload, 'A webhook of the caller is disabled'],
  'webhook.resumed': [WebhookPayload, 'A webhook of the caller is active again'],
} as const satisfies Record<Topic, readonly [Type, string]>;

type Payloads = { [Name in Topic]: InstanceType<(typeof PAYLOADS)[Name][0]> };

type EventOf<Name extends Topic> = {
  /** Unique to this event. Later events have greater ids, compared as text. */
  id: string;
  topic: Name;
  /** ISO 8601, UTC: the block's time for events from the chain, the database's time for the rest. */
  occurredAt: string;
} & Payloads[Name];

/** Sent whatever topics were asked for. */
export const RELOAD = 'reload';

/** An event of one of these topics. */
export type LedgerEvent<Name extends Topic = Topic> = { [Each in Name]: EventOf<Each> }[Name];

/** The topic that an event is about: one that takes back another is about that one's. */
export const subjectOf = (event: LedgerEvent): Topic =>
  event.topic === 'transaction.reverted' ? event.reverted : event.topic;

/** How far the outbox has been read: all rows before one, and the first `item` events of that row. */
export interface OutboxCursor {
  /** Id of the writing transaction: a decimal string, because xid8 has 64 bits. */
  xid: string;
  position: number;
  item: number;
}

export const BEGINNING: OutboxCursor = { xid: '0', position: 0, item: 0 };

const hex = (value: bigint | number, digits: number): string => value.toString(16).padStart(digits, '0');

/** The cursor as text. The cursor after an event is the event's id. */
export const cursorText = ({ xid, position, item }: OutboxCursor): string =>
  `${hex(BigInt(xid), 12)}-${hex(position, 12)}-${hex(item, 4)}`;

const CURSOR = /^([0-9a-f]{12})-([0-9a-f]{12})-([0-9a-f]{4})$/;

/** @returns undefined if the text is not a cursor */
export function parseCursor(text: string): OutboxCursor | undefined {
  const [, xid, position, item] = CURSOR.exec(text) ?? [];
  if (xid === undefined || parseInt(position, 16) > Number.MAX_SAFE_INTEGER) return undefined;
  return { xid: BigInt(`0x${xid}`).toString(), position: parseInt(position, 16), item: parseInt(item, 16) };
}

/** The events of a row of the outbox, with their ids, which follow from their indexes in it: those from index `from` on. */
export const eventsOf = (
  { xid, position, items }: { xid: string; position: string; items: Omit<LedgerEvent, 'id'>[] },
  from = 0,
): LedgerEvent[] =>
  items.slice(from).map((item, n) => {
    const id = cursorText({ xid, position: Number(position), item: from + n + 1 });
    return { id, ...item } as LedgerEvent;
  });
