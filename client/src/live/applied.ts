import * as change from './changes.js';
import type { EventPayload, Topic } from '../events.js';
import type { Start } from '../types.js';

/** What an event does to what is shown; undefined: the event does not carry that, so it has to be read. */
type Rule<Name extends Topic> = (start: Start, event: EventPayload<Name>) => Start | undefined;

const nothing = (start: Start): Start => start;

/**
 * Other topics have no rule, because their events do not carry all that is shown, such as the members of a new pool, the
 * shares of a yield, or the number of tickets that won a draw. What is shown is then read again.
 */
const RULES: { readonly [Name in Topic]?: Rule<Name> } = {
  'deposit.submitted': change.submitted,
  'deposit.confirmed': change.deposited,
  'withdrawal.confirmed': change.withdrawn,
  'yield.claimed': change.claimed,
  'deposit.expired': change.expired,
  'draw.closed': change.closed,
  'circle.opened': nothing,
  'circle.started': nothing,
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
  if (!Object.hasOwn(RULES, event.topic)) return undefined;
  return (RULES[event.topic] as Rule<Name>)(start, event);
}
