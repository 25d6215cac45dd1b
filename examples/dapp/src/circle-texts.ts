import type { PoolRounds } from '@pooled-savings/client';
import { durationText, secondsTo } from './clock.js';
import { type Token, dateText, shortAddress, withSymbol } from './format.js';

export type Circle = NonNullable<PoolRounds['circle']>;
export type Place = NonNullable<PoolRounds['mine']>;

export const namesOf =
  (address: string) =>
  (account: string): string =>
    account === address.toLowerCase() ? 'you' : shortAddress(account);

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** In which state it is, in a few words. */
export function stateText(circle: Circle | null): [text: string, kind: string] {
  if (!circle) return ['Not open yet', 'warn'];
  switch (circle.state) {
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

export const joinedOf = ({ members }: Circle): number => members.filter(({ joinedAt }) => joinedAt).length;

/** What each round brings to whose turn it is. */
export const potOf = ({ contribution, places }: Circle): bigint => BigInt(contribution) * BigInt(places);

/** What happens in the circle now, and what comes next. */
export function happensText(circle: Circle, address: string, token: Token): string {
  const pot = withSymbol(potOf(circle), token);
  switch (circle.state) {
    case 'JOINING': {
      const isOver = secondsTo(circle.joinBy) === 0;
      const rest = 'and everyone takes back what they have locked';
      return isOver
        ? `Not all have joined in time. Anyone may cancel the circle, ${rest}.`
        : `It begins when all have joined, until ${dateText(circle.joinBy)} at the latest. After that anyone may cancel it, ${rest}.`;
    }
    case 'RUNNING': {
      const round = circle.rounds[circle.currentRound!];
      const turn = namesOf(address)(round.account);
      const whose = turn === 'you' ? 'It is your turn' : `It is the turn of ${turn}`;
      const left = secondsTo(circle.roundEnd!);
      if (round.paidCount === circle.places)
        return `${whose}: all have paid. Anyone may end the round, and the pot of ${pot} is there to be taken.`;
      const paid = `${round.paidCount} of ${circle.places} have paid`;
      return left > 0
        ? `${whose}: the pot will be ${pot}. ${paid}, and ${durationText(left)} are left.`
        : `${whose}. The time is over, and ${paid}. Anyone may end the round: for those who have not paid their locked money pays. If that does not reach, the circle ends.`;
    }
    case 'COMPLETED':
      return 'Everyone has had a turn. What is left of the locked money can be taken back.';
    case 'CANCELLED':
      return joinedOf(circle) < circle.places
        ? 'It was cancelled before it began. Everyone can take back what they have locked.'
        : 'Somebody did not pay, and the locked money did not reach. Everyone can take back what they paid for this round, and what is left of what they have locked.';
  }
}

/** What that means for the caller. */
export function ownTexts(circle: Circle, mine: Place, token: Token): string[] {
  const { contribution, state } = circle;
  const { collateral, missed, paid, payout } = mine;
  const texts: string[] = [];
  if (state === 'JOINING')
    texts.push(mine.joined ? 'You have joined.' : `Your turn is round ${mine.place + 1}.`);
  if (missed > 0) {
    const times = missed === 1 ? 'one round' : `${missed} rounds`;
    const lost = withSymbol(BigInt(contribution) * BigInt(missed), token);
    texts.push(`You did not pay ${times}: ${lost} were taken of what you have locked.`);
  }
  if (state === 'RUNNING') {
    if (paid) texts.push('You have paid this round.');
    else if (secondsTo(circle.roundEnd!) > 0)
      texts.push(
        BigInt(collateral) >= BigInt(contribution)
          ? `If you do not pay in time, ${withSymbol(contribution, token)} are taken of what you have locked.`
          : 'If you do not pay in time, the circle ends: what you have locked does not reach.',
      );
  }
  if (payout !== '0') texts.push(`Your pot of ${withSymbol(payout, token)} waits for you.`);
  return texts;
}

/** Of a member, what the others see. */
export function memberText(circle: Circle, place: number): [text: string, kind: string] {
  const { state, currentRound, members } = circle;
  const { joinedAt, paid, missed, received } = members[place];
  const had = received === '0' ? '' : ', has the pot';
  const skipped = missed === 0 ? '' : `, missed ${missed}`;
  switch (state) {
    case 'JOINING':
      return joinedAt ? ['Joined', 'good'] : ['Not yet', 'warn'];
    case 'RUNNING':
      return [
        `${paid ? 'Paid' : 'Not paid'}${skipped}${currentRound! > place ? had || ', pot waits' : ''}`,
        paid ? 'good' : 'warn',
      ];
    case 'COMPLETED':
      return [received === '0' ? `Pot waits${skipped}` : `Has the pot${skipped}`, skipped ? 'warn' : 'good'];
    case 'CANCELLED':
      return [joinedAt ? `Joined${skipped}${had}` : 'Did not join', skipped || !joinedAt ? 'warn' : ''];
  }
}

const HOUR = 3600;
const DAY = 86_400;
/** What may be chosen for a round, or for joining, in seconds. */
export const PERIODS: readonly [seconds: number, text: string][] = [
  [HOUR, '1 hour'],
  [DAY, '1 day'],
  [7 * DAY, '1 week'],
  [30 * DAY, '30 days'],
];

export function periodText(seconds: number): string {
  const known = PERIODS.find(([each]) => each === seconds);
  if (known) return known[1];
  return seconds % DAY === 0 ? `${seconds / DAY} days` : durationText(seconds);
}
