import type { EventPayload, Topic } from '@pooled-savings/client';
import type { LedgerEvent, Topic as LedgerTopic } from '#ledger/outbox/ledger-event';

type Flat<T> = T extends object ? { [Key in keyof T]: T[Key] } : T;
/** Not whether each fits the other, which optional fields do too: whether the compiler sees one type. */
type Same<A, B> =
  (<T>() => T extends Flat<A> ? 1 : 2) extends <T>() => T extends Flat<B> ? 1 : 2 ? true : never;

/** `npm run typecheck` fails when the client and the service do not mean the same by an event. */
export const topicsAreTheSame: Same<Topic, LedgerTopic> = true;
export const payloadsAreTheSame: {
  [Name in LedgerTopic]: Same<EventPayload<Name>, LedgerEvent<Name>>;
} = {
  'pool.created': true,
  'deposit.submitted': true,
  'deposit.confirmed': true,
  'withdrawal.confirmed': true,
  'yield.accrued': true,
  'yield.claimed': true,
  'deposit.expired': true,
  'pool.cancelled': true,
  'transaction.reverted': true,
  'draw.opened': true,
  'tickets.issued': true,
  'draw.closed': true,
  'draw.completed': true,
  'draw.cancelled': true,
  'prize.paid': true,
  'draw.refunded': true,
  'circle.opened': true,
  'circle.started': true,
  'circle.round_ended': true,
  'circle.completed': true,
  'circle.cancelled': true,
  'webhook.paused': true,
  'webhook.disabled': true,
  'webhook.resumed': true,
};
