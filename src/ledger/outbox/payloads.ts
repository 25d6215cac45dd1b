import type { Type } from '@nestjs/common';
import { ApiProperty, IntersectionType, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { AMOUNT as DIGITS, STORED_ADDRESS } from '#values/rules';
import { TRANSACTION_TYPES, type TransactionType } from '#values/types';
import { TOPICS, type Topic } from './ledger-event';

const AMOUNT = { pattern: DIGITS };
const ADDRESS = { pattern: STORED_ADDRESS };

/** The place of what the chain says: events of one transaction of the database come in the order of places. */
class ChainPayload {
  @ApiProperty({ type: 'integer' }) blockNumber: number;
  @ApiProperty({
    type: 'integer',
    description: 'Log index, plus 2,097,152 for its second event',
  })
  logIndex: number;
  @ApiProperty({
    description:
      'Whether the block was final when the event was published, so that no reorganisation can revert it. An event becomes final without another one, unless `transaction.reverted` follows',
  })
  final: boolean;
}

class ReloadPayload {
  @ApiProperty({
    type: 'integer',
    description: 'First block whose events are published',
    example: 19_000_000,
  })
  publishedFrom: number;
}

/** A row of the ledger. Amounts are decimal strings of the smallest token unit, addresses are lower-cased. */
class TransactionPayload extends ChainPayload {
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ format: 'uuid' }) transactionId: string;
  @ApiProperty({ enum: TRANSACTION_TYPES }) transactionType: TransactionType;
  @ApiProperty() txHash: string;
  @ApiProperty({ ...ADDRESS, description: 'Account that paid, withdrew or claimed' }) account: string;
  @ApiProperty(AMOUNT) amount: string;
}

/** The owner's account. For POST /pools also the announced PENDING deposit, which is not on the chain yet. */
class PoolPayload extends IntersectionType(
  PickType(TransactionPayload, ['poolId', 'account']),
  PartialType(PickType(TransactionPayload, ['transactionId', 'transactionType', 'amount'])),
) {
  @ApiProperty({
    ...ADDRESS,
    description:
      'Contract of the pool, which never changes; amounts are in its token, which GET /config names',
  })
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
  @ApiProperty({ type: 'integer' }) drawId: number;
  @ApiProperty({ ...ADDRESS, description: 'Lottery contract; draw ids are unique only within it' })
  contract: string;
  @ApiProperty() txHash: string;
}

class TicketsPayload extends DrawPayload {
  @ApiProperty(ADDRESS) account: string;
  @ApiProperty({ ...AMOUNT, description: 'Number of tickets of this purchase' }) tickets: string;
}

class WinnerPayload extends DrawPayload {
  @ApiProperty(ADDRESS) winner: string;
  @ApiProperty(AMOUNT) prize: string;
}

class PayoutPayload extends DrawPayload {
  @ApiProperty({ ...ADDRESS, description: 'Account that received it' }) account: string;
  @ApiProperty(AMOUNT) amount: string;
}

class CirclePayload extends ChainPayload {
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ type: 'integer', example: 1, description: 'Number of the circle within its contract' })
  circleId: number;
  @ApiProperty(ADDRESS) contract: string;
  @ApiProperty() txHash: string;
}

class OpenedPayload extends CirclePayload {
  @ApiProperty({ ...ADDRESS, description: 'Account that opened the circle: the owner of the pool' })
  account: string;
  @ApiProperty({ ...AMOUNT, description: 'Contribution of each member in a round' }) amount: string;
}

class RoundPayload extends CirclePayload {
  @ApiProperty({ type: 'integer', example: 0, description: 'Number of the round, from 0' }) round: number;
  @ApiProperty({ ...ADDRESS, description: 'Member whose turn it was' }) account: string;
  @ApiProperty({ ...AMOUNT, description: 'Pot that the account can claim' }) amount: string;
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
  @ApiProperty({ ...ADDRESS, description: 'Owner of the webhook' }) account: string;
  @ApiProperty({ format: 'uuid' }) webhookId: string;
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
