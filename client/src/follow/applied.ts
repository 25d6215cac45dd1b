import * as change from './changes.js';
import type { EventPayload, Topic } from '../events.js';
import type { Start } from '../types.js';

/** What an event does to what is shown; undefined: the event does not carry that, so it has to be read. */
type Rule<Name extends Topic> = (start: Start, event: EventPayload<Name>) => Start | undefined;

const read = (): undefined => undefined;
const nothing = (start: Start): Start => start;

const RULES: { readonly [Name in Topic]: Rule<Name> } = {
  // Not told: its type, its members.
  'pool.created': read,
  'deposit.submitted': change.submitted,
  'deposit.confirmed': change.deposited,
  'withdrawal.confirmed': change.withdrawn,
  // Not told: how much of it is whose.
  'yield.accrued': read,
  'yield.claimed': change.claimed,
  'deposit.expired': change.expired,
  // Not told: which pool takes its place in the list.
  'pool.cancelled': read,
  // Not told: what is there instead.
  'transaction.reverted': read,
  // Not told: price and time.
  'draw.opened': read,
  // Not told: what others bought, and the prize.
  'tickets.issued': read,
  'draw.closed': change.closed,
  // Not told: how many tickets won, and of how many.
  'draw.completed': read,
  'draw.cancelled': read,
  // Not told: what is left to be paid out.
  'prize.paid': read,
  'draw.refunded': read,
  'circle.opened': nothing,
  'circle.started': nothing,
  // Not told: what each member has paid.
  'circle.round_ended': read,
  'circle.completed': nothing,
  'circle.cancelled': nothing,
  'webhook.paused': nothing,
  'webhook.disabled': nothing,
  'webhook.resumed': nothing,
};

/**
 * What is shown after an event; undefined if only a read can tell, as for every topic that a newer service may have.
 */
export function applied<Name extends Topic>(start: Start, event: EventPayload<Name>): Start | undefined {
  const rule = Object.hasOwn(RULES, event.topic) ? (RULES[event.topic] as Rule<Name>) : read;
  return rule(start, event);
}
