import type { PoolRounds } from '@pooled-savings/client';
import { durationText, secondsTo } from './clock.js';
import { type Token, countText, dateText, shortAddress, withSymbol } from './format.js';
import type { Chip } from './parts.js';

export type Circle = NonNullable<PoolRounds['circle']>;
type Place = NonNullable<PoolRounds['mine']>;

const joinedOf = ({ members }: Circle): number => members.filter(({ joinedAt }) => joinedAt).length;

/** In which state it is, in a few words. */
export function stateOf(circle: Circle | null): Chip {
  switch (circle?.state) {
    case undefined:
      return ['Not open yet', 'warn'];
    case 'JOINING':
      return [`${joinedOf(circle)} of ${circle.places} joined`, 'warn'];
    case 'RUNNING':
      return [`Round ${circle.currentRound! + 1} of ${circle.places}`, 'good'];
    case 'COMPLETED':
      return ['Completed', 'good'];
    case 'CANCELLED':
      return ['Ended early', ''];
  }
}

/** What happens in the circle now, and what comes next. */
export function happensText(circle: Circle, address: string, token: Token): string {
  const { state, places, joinBy, rounds, currentRound, roundEnd } = circle;
  switch (state) {
    case 'JOINING':
      return secondsTo(joinBy) === 0
        ? 'Not all have joined in time. Anyone may cancel the circle, and everyone takes back what they have locked.'
        : `It begins when all have joined, until ${dateText(joinBy)} at the latest. After that anyone may cancel it, and everyone takes back what they have locked.`;
    case 'RUNNING': {
      const { account, paidCount } = rounds[currentRound!];
      const pot = withSymbol(BigInt(circle.contribution) * BigInt(places), token);
      const whose = account === address ? 'It is your turn' : `It is the turn of ${shortAddress(account)}`;
      const paid = `${paidCount} of ${places} have paid`;
      const left = secondsTo(roundEnd!);
      if (paidCount === places)
        return `${whose}: all have paid. Anyone may end the round, and the pot of ${pot} is there to be taken.`;
      return left > 0
        ? `${whose}: the pot will be ${pot}. ${paid}, and ${durationText(left)} are left.`
        : `${whose}. The time is over, and ${paid}. Anyone may end the round: for those who have not paid their locked money pays. If that does not reach, the circle ends.`;
    }
    case 'COMPLETED':
      return 'Everyone has had a turn. What is left of the locked money can be taken back.';
    case 'CANCELLED':
      return joinedOf(circle) < places
        ? 'It was cancelled before it began. Everyone can take back what they have locked.'
        : 'Somebody did not pay, and the locked money did not reach. Everyone can take back what they paid for this round, and what is left of what they have locked.';
  }
}

/** What that means for the caller. */
export function ownTexts({ contribution, state, roundEnd }: Circle, mine: Place, token: Token): string[] {
  const { collateral, missed, paid, payout, joined, place } = mine;
  const texts: string[] = [];
  if (state === 'JOINING') texts.push(joined ? 'You have joined.' : `Your turn is round ${place + 1}.`);
  if (missed > 0) {
    const lost = withSymbol(BigInt(contribution) * BigInt(missed), token);
    texts.push(`You did not pay ${countText(missed, 'round')}: ${lost} were taken of what you have locked.`);
  }
  if (state === 'RUNNING' && paid) texts.push('You have paid this round.');
  else if (state === 'RUNNING' && secondsTo(roundEnd!) > 0)
    texts.push(
      BigInt(collateral) >= BigInt(contribution)
        ? `If you do not pay in time, ${withSymbol(contribution, token)} are taken of what you have locked.`
        : 'If you do not pay in time, the circle ends: what you have locked does not reach.',
    );
  if (payout !== '0') texts.push(`Your pot of ${withSymbol(payout, token)} waits for you.`);
  return texts;
}

/** What the others see of a member. */
export function memberOf({ state, currentRound }: Circle, member: Circle['members'][number]): Chip {
  const { place, joinedAt, paid, missed, received } = member;
  const isGood = state === 'RUNNING' ? paid : joinedAt !== null;
  const [yes, no] = state === 'RUNNING' ? ['Paid', 'Not paid'] : ['Joined', 'Not joined'];
  const facts = [isGood ? yes : no];
  if (missed > 0) facts.push(`missed ${missed}`);
  if (received !== '0') facts.push('has the pot');
  else if (state === 'COMPLETED' || (currentRound ?? 0) > place) facts.push('pot waits');
  return [facts.join(', '), isGood ? 'good' : 'warn'];
}

const HOUR = 3600;
const DAY = 24 * HOUR;
/** What may be chosen for a round, or for joining, in seconds. */
export const PERIODS = [
  [HOUR, '1 hour'],
  [DAY, '1 day'],
  [7 * DAY, '1 week'],
  [30 * DAY, '30 days'],
] as const satisfies readonly (readonly [seconds: number, text: string])[];

export const periodText = (seconds: number): string =>
  PERIODS.find(([each]) => each === seconds)?.[1] ?? durationText(seconds);
