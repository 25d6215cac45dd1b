import type { Payloads } from './payloads';

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

/** The events of a row of the outbox, with their ids, which follow from their places in it: those from place `from` on. */
export const eventsOf = (
  { xid, position, items }: { xid: string; position: string; items: Omit<LedgerEvent, 'id'>[] },
  from = 0,
): LedgerEvent[] =>
  items.slice(from).map((item, n) => {
    const id = cursorText({ xid, position: Number(position), item: from + n + 1 });
    return { id, ...item } as LedgerEvent;
  });
