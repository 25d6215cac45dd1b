import type { Type } from '@nestjs/common';
import { ApiProperty, IntersectionType, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { ApiAddress, ApiAmount, ApiId, ApiInteger } from '#platform/openapi/fields';
import { TRANSACTION_TYPES, type TransactionType } from '#values/types';
import { TOPICS, type Topic } from './ledger-event';

/** The place of what the chain says: events of one transaction of the database come in the order of places. */
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
 * The fields of each topic beside `id`, `topic` and `occurredAt`, and what it tells: a few words, and more after them. The
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

export type Payloads = { [Name in Topic]: InstanceType<(typeof PAYLOADS)[Name][0]> };
