import type { EventPayload, Topic } from './events.js';
import type { Start } from './types.js';

/** What an event does to what is shown; undefined: the event does not carry that, so it has to be read. */
type Rule<Name extends Topic> = (start: Start, event: EventPayload<Name>) => Start | undefined;

const read = (): undefined => undefined;
const nothing = (start: Start): Start => start;

const RULES: { readonly [Name in Topic]: Rule<Name> } = {
  'pool.created': read,
  'deposit.submitted': read,
  'deposit.confirmed': read,
  'withdrawal.confirmed': read,
  'yield.accrued': read,
  'yield.claimed': read,
  'deposit.expired': read,
  'pool.cancelled': read,
  'transaction.reverted': read,
  'draw.opened': read,
  'tickets.issued': read,
  'draw.closed': read,
  'draw.completed': read,
  'draw.cancelled': read,
  'prize.paid': read,
  'draw.refunded': read,
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
