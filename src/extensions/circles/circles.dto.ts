import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, IsString, Matches, Max, Min } from 'class-validator';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { CIRCLE_STATES, CircleState } from '#values/types';
import { toInteger } from '#platform/answers/pagination';
import { IsAmount, IsPositiveAmount } from '#ledger/chain/amounts';
import { CIRCLE_ACTIONS } from './circles.sql';

const TIME = { type: String, format: 'date-time', nullable: true } as const;

export class CircleRound {
  @ApiProperty({ type: 'integer', example: 0, description: 'Number of the round, from 0' }) round: number;
  @ApiProperty({ pattern: STORED_ADDRESS, description: 'Member whose turn it is' }) account: string;
  @ApiProperty({
    type: 'integer',
    example: 2,
    description: 'Members who have paid, themselves or by collateral',
  })
  paidCount: number;
  @ApiProperty({ ...TIME, description: 'End of its time; null before it starts' })
  endsAt: string | null;
  @ApiProperty({
    type: String,
    nullable: true,
    pattern: AMOUNT,
    description: 'Amount paid out; null until the round ends',
  })
  pot: string | null;
  @ApiProperty({ ...TIME, description: 'Time at which the round was ended' }) endedAt: string | null;
}

export class CircleMember {
  @ApiProperty({ pattern: STORED_ADDRESS }) account: string;
  @ApiProperty({ type: 'integer', example: 0, description: "Round of the member's pot, from 0" })
  place: number;
  @ApiProperty(TIME) joinedAt: string | null;
  @ApiProperty({ pattern: AMOUNT, description: 'Remaining collateral of the member' })
  collateral: string;
  @ApiProperty({ description: 'Whether the current round is paid' }) paid: boolean;
  @ApiProperty({ type: 'integer', example: 0, description: 'Rounds that the collateral paid' })
  missed: number;
  @ApiProperty({ pattern: AMOUNT, description: 'Pots paid out to the member' }) received: string;
}

export class Circle {
  @ApiProperty({ type: 'integer', example: 1, description: 'Number of the circle within its contract' })
  circleId: number;
  @ApiProperty({ pattern: STORED_ADDRESS }) contract: string;
  @ApiProperty({ enum: CIRCLE_STATES }) state: CircleState;
  @ApiProperty({
    pattern: STORED_ADDRESS,
    description: 'Account that opened the circle: the owner of the pool',
  })
  organiser: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Contribution of each member in a round' })
  contribution: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Amount that each member locks to join' }) collateral: string;
  @ApiProperty({ type: 'integer', example: 2_592_000, description: 'Length of a round, in seconds' })
  period: number;
  @ApiProperty({ type: 'integer', example: 3, description: 'Number of members and of rounds' })
  places: number;
  @ApiProperty({ format: 'date-time', description: 'Deadline for joining' }) joinBy: string;
  @ApiProperty({ format: 'date-time' }) openedAt: string;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 0,
    description: 'Current round; null unless the circle runs',
  })
  currentRound: number | null;
  @ApiProperty({ ...TIME, description: 'End of the current round' }) roundEnd: string | null;
  @ApiProperty({ type: [CircleRound] }) rounds: CircleRound[];
  @ApiProperty({ type: [CircleMember], description: 'Members in the order of their turns' })
  members: CircleMember[];
}

export class OwnPlace {
  @ApiProperty({ type: 'integer', example: 0, description: "Round of the caller's pot, from 0" })
  place: number;
  @ApiProperty({ example: true }) joined: boolean;
  @ApiProperty({ pattern: AMOUNT, description: 'Remaining collateral' }) collateral: string;
  @ApiProperty({ description: 'Whether the current round is paid' }) paid: boolean;
  @ApiProperty({ type: 'integer', example: 0, description: 'Rounds that the collateral paid' })
  missed: number;
  @ApiProperty({ pattern: AMOUNT, description: 'Claimable pots' }) payout: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Claimable refund of a circle that is over' })
  refund: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Sum of payouts and refunds' }) received: string;
}

export class PoolRounds {
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ type: Circle, nullable: true, description: 'Circle; null until the owner opens one' })
  circle: Circle | null;
  @ApiProperty({
    type: OwnPlace,
    nullable: true,
    description: 'Place of the caller; null for others',
  })
  mine: OwnPlace | null;
  @ApiProperty({
    enum: CIRCLE_ACTIONS,
    isArray: true,
    example: ['contribute'],
    description:
      'Calls under /pools/{id}/calls that the contract accepts from the caller now, as of the last block',
  })
  can: (typeof CIRCLE_ACTIONS)[number][];
}

const ADDRESSES = '^0x[a-fA-F0-9]{40}(,0x[a-fA-F0-9]{40}){1,31}$';
const UTC = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,3})?Z$';
/** Seconds. */
const [SHORTEST, LONGEST] = [3600, 366 * 86_400];

/** What the members agree on, for good. */
export class OpenCircleQuery {
  @ApiProperty({
    pattern: AMOUNT,
    example: '25000000000000000000',
    description: 'Contribution of each member in a round, from 1 to 2^128-1 smallest token units',
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

  @ApiProperty({
    type: 'integer',
    minimum: SHORTEST,
    maximum: LONGEST,
    example: 2_592_000,
    description: 'Length of a round, in seconds',
  })
  @Transform(toInteger)
  @IsInt()
  @Min(SHORTEST)
  @Max(LONGEST)
  period: number;

  @ApiProperty({
    pattern: UTC,
    example: '2026-12-21T05:00:00Z',
    description: 'Deadline for joining, at most a year from now',
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
