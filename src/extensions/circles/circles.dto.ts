import { ApiProperty } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { CIRCLE_STATES, CircleState } from '#values/types';
import { CIRCLE_ACTIONS } from './circles.sql';

const TIME = { type: String, format: 'date-time', nullable: true } as const;

export class CircleRound {
  @ApiProperty({ type: 'integer', example: 0, description: 'From 0' }) round: number;
  @ApiProperty({ pattern: STORED_ADDRESS, description: 'Whose turn it is' }) account: string;
  @ApiProperty({
    type: 'integer',
    example: 2,
    description: 'How many have paid, by themselves or by collateral',
  })
  paidCount: number;
  @ApiProperty({ ...TIME, description: 'When its time is over; null while it has not begun' })
  endsAt: string | null;
  @ApiProperty({ type: String, nullable: true, pattern: AMOUNT, description: 'null until it has ended' })
  pot: string | null;
  @ApiProperty({ ...TIME, description: 'When it was ended' }) endedAt: string | null;
}

export class CircleMember {
  @ApiProperty({ pattern: STORED_ADDRESS }) account: string;
  @ApiProperty({ type: 'integer', example: 0, description: 'The round whose pot is his, from 0' })
  place: number;
  @ApiProperty(TIME) joinedAt: string | null;
  @ApiProperty({ pattern: AMOUNT, description: 'What he has locked, less what was taken of it' })
  collateral: string;
  @ApiProperty({ description: 'Whether the round that runs is paid' }) paid: boolean;
  @ApiProperty({ type: 'integer', example: 0, description: 'How often his collateral paid for him' })
  missed: number;
  @ApiProperty({ pattern: AMOUNT, description: 'What was paid out to him of pots' }) received: string;
}

export class Circle {
  @ApiProperty({ type: 'integer', example: 1, description: 'Its number at the contract' }) circleId: number;
  @ApiProperty({ pattern: STORED_ADDRESS }) contract: string;
  @ApiProperty({ enum: CIRCLE_STATES }) state: CircleState;
  @ApiProperty({ pattern: STORED_ADDRESS, description: 'Who opened it: the owner of the pool' })
  organiser: string;
  @ApiProperty({ pattern: AMOUNT, description: 'What each member pays in a round' }) contribution: string;
  @ApiProperty({ pattern: AMOUNT, description: 'What each member locks to join' }) collateral: string;
  @ApiProperty({ type: 'integer', example: 2_592_000, description: 'Of a round, in seconds' }) period: number;
  @ApiProperty({ type: 'integer', example: 3, description: 'How many members it has, and rounds' })
  places: number;
  @ApiProperty({ format: 'date-time', description: 'Until when members join' }) joinBy: string;
  @ApiProperty({ format: 'date-time' }) openedAt: string;
  @ApiProperty({ type: 'integer', nullable: true, example: 0, description: 'null unless it runs' })
  currentRound: number | null;
  @ApiProperty({ ...TIME, description: 'When the time of the current round is over' }) roundEnd:
    string | null;
  @ApiProperty({ type: [CircleRound] }) rounds: CircleRound[];
  @ApiProperty({ type: [CircleMember], description: 'In the order of their turns' }) members: CircleMember[];
}

export class OwnPlace {
  @ApiProperty({ type: 'integer', example: 0, description: "The round whose pot is the caller's, from 0" })
  place: number;
  @ApiProperty({ example: true }) joined: boolean;
  @ApiProperty({ pattern: AMOUNT, description: 'What is left of it' }) collateral: string;
  @ApiProperty({ description: 'Whether the round that runs is paid' }) paid: boolean;
  @ApiProperty({ type: 'integer', example: 0, description: 'How often the collateral paid' }) missed: number;
  @ApiProperty({ pattern: AMOUNT, description: 'Pots that wait to be claimed' }) payout: string;
  @ApiProperty({ pattern: AMOUNT, description: 'What the circle gives back now that it is over' })
  refund: string;
  @ApiProperty({ pattern: AMOUNT, description: 'All that was paid out and given back' }) received: string;
}

export class PoolRounds {
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ type: Circle, nullable: true, description: 'null until the owner has opened one' })
  circle: Circle | null;
  @ApiProperty({
    type: OwnPlace,
    nullable: true,
    description: 'null unless the caller is a member of the circle',
  })
  mine: OwnPlace | null;
  @ApiProperty({
    enum: CIRCLE_ACTIONS,
    isArray: true,
    example: ['contribute'],
    description:
      'What the contract takes from the caller now, as of the last block: each is one of the calls under /pools/{id}/calls',
  })
  can: (typeof CIRCLE_ACTIONS)[number][];
}
