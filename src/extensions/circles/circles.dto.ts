import { ApiProperty } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { CIRCLE_STATES, CircleState } from '#values/types';
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
