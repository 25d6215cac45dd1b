import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, IsString, Matches, Max, Min } from 'class-validator';
import { AMOUNT } from '#values/rules';
import { CIRCLE_STATES, CircleState } from '#values/types';
import { toInteger } from '#platform/answers/pagination';
import { ApiAddress, ApiAmount, ApiId, ApiInteger, ApiTime } from '#platform/openapi/fields';
import { IsAmount, IsPositiveAmount } from '#ledger/chain/amounts';
import { CIRCLE_ACTIONS } from './circles.sql';

export class CircleRound {
  @ApiInteger('Number of the round, from 0', { example: 0 }) round: number;
  @ApiAddress('Member whose turn it is') account: string;
  @ApiInteger('Members who have paid, themselves or by collateral', { example: 2 }) paidCount: number;
  @ApiTime('End of its time; null before it starts', { nullable: true }) endsAt: string | null;
  @ApiAmount('Amount paid out; null until the round ends', { nullable: true }) pot: string | null;
  @ApiTime('Time at which the round was ended', { nullable: true }) endedAt: string | null;
}

export class CircleMember {
  @ApiAddress() account: string;
  @ApiInteger("Round of the member's pot, from 0", { example: 0 }) place: number;
  @ApiTime(undefined, { nullable: true }) joinedAt: string | null;
  @ApiAmount('Remaining collateral of the member') collateral: string;
  @ApiProperty({ description: 'Whether the current round is paid' }) paid: boolean;
  @ApiInteger('Rounds that the collateral paid', { example: 0 }) missed: number;
  @ApiAmount('Pots paid out to the member') received: string;
}

export class Circle {
  @ApiInteger('Number of the circle within its contract', { example: 1 }) circleId: number;
  @ApiAddress() contract: string;
  @ApiProperty({ enum: CIRCLE_STATES }) state: CircleState;
  @ApiAddress('Account that opened the circle: the owner of the pool') organiser: string;
  @ApiAmount('Contribution of each member in a round') contribution: string;
  @ApiAmount('Amount that each member locks to join') collateral: string;
  @ApiInteger('Length of a round, in seconds', { example: 2_592_000 }) period: number;
  @ApiInteger('Number of members and of rounds', { example: 3 }) places: number;
  @ApiTime('Deadline for joining') joinBy: string;
  @ApiTime() openedAt: string;
  @ApiInteger('Current round; null unless the circle runs', { nullable: true, example: 0 })
  currentRound: number | null;
  @ApiTime('End of the current round', { nullable: true }) roundEnd: string | null;
  @ApiProperty({ type: [CircleRound] }) rounds: CircleRound[];
  @ApiProperty({ type: [CircleMember], description: 'Members in the order of their turns' })
  members: CircleMember[];
}

export class OwnPlace {
  @ApiInteger("Round of the caller's pot, from 0", { example: 0 }) place: number;
  @ApiProperty({ example: true }) joined: boolean;
  @ApiAmount('Remaining collateral') collateral: string;
  @ApiProperty({ description: 'Whether the current round is paid' }) paid: boolean;
  @ApiInteger('Rounds that the collateral paid', { example: 0 }) missed: number;
  @ApiAmount('Claimable pots') payout: string;
  @ApiAmount('Claimable refund of a circle that is over') refund: string;
  @ApiAmount('Sum of payouts and refunds') received: string;
}

export class PoolRounds {
  @ApiId() poolId: string;
  @ApiProperty({ type: Circle, nullable: true, description: 'Circle; null until the owner opens one' })
  circle: Circle | null;
  @ApiProperty({ type: OwnPlace, nullable: true, description: 'Place of the caller; null for others' })
  mine: OwnPlace | null;
  @ApiProperty({
    enum: CIRCLE_ACTIONS,
    isArray: true,
    example: ['contribute'],
    description: 'Calls under /pools/{id}/calls that the contract accepts from the caller now',
  })
  can: (typeof CIRCLE_ACTIONS)[number][];
}

const ADDRESSES = '^0x[a-fA-F0-9]{40}(,0x[a-fA-F0-9]{40}){1,31}$';
const UTC = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,3})?Z$';
/** Seconds. */
const [SHORTEST, LONGEST] = [3600, 366 * 86_400];

export class OpenCircleQuery {
  @ApiAmount('Contribution of each member in a round, from 1 to 2^128-1 smallest token units', {
    example: '25000000000000000000',
  })
  @IsPositiveAmount()
  contribution: string;

  @ApiPropertyOptional({
    pattern: AMOUNT,
    example: '50000000000000000000',
    description:
      'Amount that each member locks to join, up to 2^128-1; 0 by default. It covers missing payments',
  })
  @IsOptional()
  @IsAmount()
  collateral?: string;

  @ApiInteger('Length of a round, in seconds', { minimum: SHORTEST, maximum: LONGEST, example: 2_592_000 })
  @Transform(toInteger)
  @IsInt()
  @Min(SHORTEST)
  @Max(LONGEST)
  period: number;

  @ApiProperty({
    pattern: UTC,
    example: '2026-12-21T05:00:00Z',
    description: 'Deadline for joining, within a year',
  })
  @Matches(new RegExp(UTC), { message: 'must be a time in UTC, as 2026-12-21T05:00:00Z' })
  joinBy: string;

  @ApiProperty({
    pattern: ADDRESSES,
    example: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8,0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
    description: 'Members in the order of their turns: 2 to 32 addresses, separated by commas',
  })
  @Matches(new RegExp(ADDRESSES), { message: 'must be 2 to 32 addresses with commas between them' })
  members: string;
}

export class CirclePaymentQuery {
  @ApiPropertyOptional({
    format: 'uuid',
    description:
      'Pending deposit of the caller in this pool, of exactly this amount, which the payment confirms',
  })
  @IsOptional()
  @IsString()
  transaction?: string;
}
