import type { EventPayload, Topic } from '@pooled-savings/client';
import type { LedgerEvent, Topic as LedgerTopic } from '#ledger/outbox/ledger-event';

type Flat<T> = T extends object ? { [Key in keyof T]: T[Key] } : T;
/** Not whether each fits the other, which optional fields do too: whether the compiler sees one type. */
type Same<A, B> =
  (<T>() => T extends Flat<A> ? 1 : 2) extends <T>() => T extends Flat<B> ? 1 : 2 ? true : never;

/** Topics whose events differ between the client and the service. */
type Different = {
  [Name in LedgerTopic]: true extends Same<EventPayload<Name>, LedgerEvent<Name>> ? never : Name;
}[LedgerTopic];

/** `npm run typecheck` fails if there are any, and names them. */
export const topicsAreTheSame: Same<Topic, LedgerTopic> = true;
export const payloadsAreTheSame: [Different] extends [never] ? true : Different = true;
