import type { TransactionType } from '#values/types';

/**
 * What events are about, in the order in which they happen to a pool and to a draw, and who may read each: the owner and
 * the members of its pool, and the account that it is about (`pool`), that account alone (`account`), everyone (`all`),
 * or those who may read the event that it takes back (`reverted`).
 */
export const AUDIENCES = {
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
  'webhook.paused': 'account',
  'webhook.disabled': 'account',
  'webhook.resumed': 'account',
} as const satisfies Record<string, 'pool' | 'account' | 'all' | 'reverted'>;
export type Topic = keyof typeof AUDIENCES;
export const TOPICS = Object.keys(AUDIENCES) as Topic[];

/** A row of the ledger. Amounts are decimal strings of the smallest token unit, addresses are lower-cased. */
interface TransactionPayload {
  poolId: string;
  transactionId: string;
  transactionType: TransactionType;
  txHash: string;
  blockNumber: number;
  /** Who paid, withdrew or claimed. */
  account: string;
  amount: string;
}

interface DrawPayload {
  drawId: number;
  /** Draw ids are unique only within a contract. */
  contract: string;
  txHash: string;
  blockNumber: number;
}

interface Payloads {
  /** The owner's account. For POST /pools also the announced PENDING deposit, which is not on the chain yet. */
  'pool.created': { poolId: string; account: string } & Partial<
    Pick<TransactionPayload, 'transactionId' | 'transactionType' | 'amount'>
  >;
  /** Who is to pay a pending deposit told the hash of the payment; null: it was taken back, or failed. */
  'deposit.submitted': Pick<TransactionPayload, 'poolId' | 'transactionId' | 'account' | 'amount'> & {
    txHash: string | null;
  };
  'deposit.confirmed': TransactionPayload;
  'withdrawal.confirmed': TransactionPayload;
  'yield.accrued': Pick<TransactionPayload, 'poolId' | 'blockNumber' | 'amount'>;
  'yield.claimed': TransactionPayload;
  /** No payment came in time. A late payment still confirms the deposit. */
  'deposit.expired': Omit<TransactionPayload, 'txHash' | 'blockNumber'>;
  /** Nothing was paid into it, and its owner took it away. If a payment arrives after all, `pool.created` comes again. */
  'pool.cancelled': { poolId: string; account: string } & Partial<
    Pick<TransactionPayload, 'transactionId' | 'transactionType' | 'amount'>
  >;
  /** A reorganisation took back an event of topic `reverted`; the other fields are that event's. */
  'transaction.reverted': { reverted: Topic } & Partial<
    TransactionPayload & DrawPayload & TicketsPayload & WinnerPayload & PayoutPayload
  >;
  'draw.opened': DrawPayload;
  'tickets.issued': DrawPayload & TicketsPayload;
  'draw.closed': DrawPayload;
  'draw.completed': DrawPayload & WinnerPayload;
  'draw.cancelled': DrawPayload;
  /** The winner has the prize. */
  'prize.paid': DrawPayload & PayoutPayload;
  /** What an account paid into a cancelled draw, for tickets and as gifts, came back to it. */
  'draw.refunded': DrawPayload & PayoutPayload;
  /** A webhook of the account failed several times in a row: little is sent to it until it answers. */
  'webhook.paused': WebhookPayload & { reason: string };
  /** Nothing is sent to it any more. */
  'webhook.disabled': WebhookPayload & { reason: string };
  'webhook.resumed': WebhookPayload;
}

interface WebhookPayload {
  account: string;
  webhookId: string;
}

interface TicketsPayload {
  account: string;
  /** How many tickets this purchase added. */
  tickets: string;
}

interface WinnerPayload {
  winner: string;
  prize: string;
}

interface PayoutPayload {
  account: string;
  amount: string;
}

type EventOf<Name extends Topic> = {
  /** Unique to this event. Later events have greater ids, compared as text. */
  id: string;
  topic: Name;
  /** ISO 8601, UTC: the block's time for events from the chain, the database's time for the rest. */
  occurredAt: string;
} & Payloads[Name];

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

/** The events of a row of the outbox, with their ids, which follow from their places in it: those from place `from` on. */
export const eventsOf = (
  { xid, position, items }: { xid: string; position: string; items: Omit<LedgerEvent, 'id'>[] },
  from = 0,
): LedgerEvent[] =>
  items.slice(from).map((item, n) => {
    const id = cursorText({ xid, position: Number(position), item: from + n + 1 });
    return { id, ...item } as LedgerEvent;
  });
