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
    description: 'Place of the log in its block; 2,097,152 more for the second that one log tells',
  })
  logIndex: number;
  @ApiProperty({
    description:
      'Whether the block was final when this was told: then no reorganisation takes it back. What was not final yet becomes so without another event, unless `transaction.reverted` comes',
  })
  final: boolean;
}

/** A row of the ledger. Amounts are decimal strings of the smallest token unit, addresses are lower-cased. */
class TransactionPayload extends ChainPayload {
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ format: 'uuid' }) transactionId: string;
  @ApiProperty({ enum: TRANSACTION_TYPES }) transactionType: TransactionType;
  @ApiProperty() txHash: string;
  @ApiProperty({ ...ADDRESS, description: 'Who paid, withdrew or claimed' }) account: string;
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
      'The pool is at this contract, and never at another: amounts of its events are in the token that GET /config has for it',
  })
  contract: string;
}

class SubmittedPayload extends PickType(TransactionPayload, [
  'poolId',
  'transactionId',
  'account',
  'amount',
]) {
  @ApiProperty({ type: String, nullable: true, description: 'null: it was taken back, or failed' })
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
  @ApiProperty({ ...ADDRESS, description: 'Draw ids are unique only within a contract' }) contract: string;
  @ApiProperty() txHash: string;
}

class TicketsPayload extends DrawPayload {
  @ApiProperty(ADDRESS) account: string;
  @ApiProperty({ ...AMOUNT, description: 'How many tickets this purchase added' }) tickets: string;
}

class WinnerPayload extends DrawPayload {
  @ApiProperty(ADDRESS) winner: string;
  @ApiProperty(AMOUNT) prize: string;
}

class PayoutPayload extends DrawPayload {
  @ApiProperty({ ...ADDRESS, description: 'Who got it' }) account: string;
  @ApiProperty(AMOUNT) amount: string;
}

class CirclePayload extends ChainPayload {
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ type: 'integer', example: 1, description: 'Its number at the contract' }) circleId: number;
  @ApiProperty(ADDRESS) contract: string;
  @ApiProperty() txHash: string;
}

class OpenedPayload extends CirclePayload {
  @ApiProperty({ ...ADDRESS, description: 'Who opened it: the owner of the pool' }) account: string;
  @ApiProperty({ ...AMOUNT, description: 'What each member pays in a round' }) amount: string;
}

class RoundPayload extends CirclePayload {
  @ApiProperty({ type: 'integer', example: 0, description: 'From 0' }) round: number;
  @ApiProperty({ ...ADDRESS, description: 'Whose turn it was' }) account: string;
  @ApiProperty({ ...AMOUNT, description: 'The pot, which the account may claim' }) amount: string;
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
  @ApiProperty({ ...ADDRESS, description: 'The owner' }) account: string;
  @ApiProperty({ format: 'uuid' }) webhookId: string;
}

class FailurePayload extends WebhookPayload {
  @ApiProperty({ description: 'Why the last attempt failed', example: 'the server answered 503' })
  reason: string;
}

/**
 * The fields of each topic beside `id`, `topic` and `occurredAt`, and what it tells: a few words, and more after them. The
 * service's code, the document and the client's types have them from here.
 */
export const PAYLOADS = {
  'pool.created': [PoolPayload, 'A pool was created, by POST /pools or by its first payment'],
  'deposit.submitted': [
    SubmittedPayload,
    'A payment was sent, or will not come. Who is to pay the deposit told its hash, or took that back',
  ],
  'deposit.confirmed': [TransactionPayload, 'A payment into a pool is on the chain'],
  'withdrawal.confirmed': [TransactionPayload, 'A withdrawal from a pool is on the chain'],
  'yield.accrued': [AccrualPayload, 'A pool has earned'],
  'yield.claimed': [TransactionPayload, 'A member has claimed what it earned'],
  'deposit.expired': [ExpiryPayload, 'No payment came in time. A late one still confirms the deposit'],
  'pool.cancelled': [
    PoolPayload,
    'A pool that was never paid was cancelled. If a payment still arrives within 30 days, `pool.created` comes again',
  ],
  'transaction.reverted': [
    RevertedPayload,
    'A reorganisation took back an event. `reverted` is its topic, and the other fields are its own',
  ],
  'draw.opened': [DrawPayload, 'Tickets for a draw are sold'],
  'tickets.issued': [TicketsPayload, 'The caller has bought tickets'],
  'draw.closed': [
    DrawPayload,
    'A draw is about to be drawn. It comes again if nobody picked the winner in time',
  ],
  'draw.completed': [WinnerPayload, 'A draw has a winner'],
  'draw.cancelled': [DrawPayload, 'A draw will have no winner'],
  'prize.paid': [PayoutPayload, 'The winner of a draw has the prize'],
  'draw.refunded': [
    PayoutPayload,
    'Money came back from a cancelled draw. It is what the caller paid, for tickets and as gifts',
  ],
  'circle.opened': [OpenedPayload, 'A circle is open: those it names may join'],
  'circle.started': [CirclePayload, 'All have joined a circle: its first round begins'],
  'circle.round_ended': [RoundPayload, 'A round of a circle is over. The pot is whose turn it was'],
  'circle.completed': [CirclePayload, 'Every member of a circle has had a turn'],
  'circle.cancelled': [
    CirclePayload,
    'A circle is over before its time. What its members have in it can be claimed',
  ],
  'webhook.paused': [
    FailurePayload,
    'A webhook of the caller is paused. It failed several times in a row: little is sent until it answers',
  ],
  'webhook.disabled': [FailurePayload, 'A webhook of the caller is sent nothing any more'],
  'webhook.resumed': [WebhookPayload, 'A webhook of the caller is sent everything again'],
} as const satisfies Record<Topic, readonly [Type, string]>;

export type Payloads = { [Name in Topic]: InstanceType<(typeof PAYLOADS)[Name][0]> };
