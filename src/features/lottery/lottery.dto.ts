import { ApiProperty } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { DRAW_STATUSES, DrawStatus } from '#values/types';
import { CursorCodec } from '#platform/answers/cursor';
import { IsAfter, IsLimit, IsPageWithout } from '#platform/answers/pagination';

/** Positions: when the draw took place, in ms since 1970, its id and its contract. */
export const WINNER_CURSOR = new CursorCodec('winners', /^\d{1,15} \d{1,16} 0x[0-9a-f]{40}$/);

export class ListWinnersQuery {
  @IsPageWithout('after')
  page?: number;

  @IsLimit(10)
  limit: number = 10;

  @IsAfter(WINNER_CURSOR)
  after?: string;
}

const COUNT = {
  type: 'integer',
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'At most 2^53 - 1, also for larger numbers; the field ending in `Exact` has no limit',
} as const;
const EXACT = {
  pattern: AMOUNT,
  description: 'The exact number in decimal digits, however large',
} as const;
const DRAW_ID = {
  type: 'integer',
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Number of the draw within its contract. Draws beyond 2^53 - 1 are not shown',
} as const;
const CONTRACT = {
  pattern: STORED_ADDRESS,
  description: 'Lottery contract of the draw',
} as const;

/** What anyone may do to move a draw on that its owner does not. */
const MOVING_ON = ['complete', 'cancel'] as const;

export class CurrentDraw {
  @ApiProperty(DRAW_ID) drawId: number;
  @ApiProperty(CONTRACT) contract: string;
  @ApiProperty({ pattern: AMOUNT }) prizePool: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Price of one ticket, in smallest token units' })
  ticketPrice: string;
  @ApiProperty({ type: 'integer' }) participants: number;
  @ApiProperty(COUNT) totalTickets: number;
  @ApiProperty(EXACT) totalTicketsExact: string;
  @ApiProperty({ format: 'date-time' }) drawTime: string;
  @ApiProperty({ enum: DRAW_STATUSES }) status: DrawStatus;
  @ApiProperty({
    type: String,
    enum: MOVING_ON,
    nullable: true,
    example: null,
    description:
      'Call under /lottery/calls that anyone can send now: pick the winner, or cancel a draw left open for seven days',
  })
  due: (typeof MOVING_ON)[number] | null;
}

export class Winner {
  @ApiProperty(DRAW_ID) drawId: number;
  @ApiProperty(CONTRACT) contract: string;
  @ApiProperty({ pattern: STORED_ADDRESS }) winner: string;
  @ApiProperty({ pattern: AMOUNT }) prize: string;
  @ApiProperty({ ...COUNT, description: `Tickets that the winner held. ${COUNT.description}` })
  tickets: number;
  @ApiProperty(EXACT) ticketsExact: string;
  @ApiProperty(COUNT) totalTickets: number;
  @ApiProperty(EXACT) totalTicketsExact: string;
  @ApiProperty({ format: 'date-time' }) drawnAt: string;
}

const DUE = ['claim', 'refund', ...MOVING_ON] as const;

/** A draw into which the caller paid, for tickets or as a gift. */
export class DrawEntry {
  @ApiProperty(DRAW_ID) drawId: number;
  @ApiProperty(CONTRACT) contract: string;
  @ApiProperty({ ...COUNT, description: `Tickets that the caller holds. ${COUNT.description}` })
  tickets: number;
  @ApiProperty(EXACT) ticketsExact: string;
  @ApiProperty(COUNT) totalTickets: number;
  @ApiProperty(EXACT) totalTicketsExact: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Price of one ticket, in smallest token units' })
  ticketPrice: string;
  @ApiProperty({ pattern: AMOUNT, description: "Price of the caller's tickets" }) spent: string;
  @ApiProperty({
    pattern: AMOUNT,
    example: '0',
    description: 'Gifts of the caller to the prize',
  })
  gifts: string;
  @ApiProperty({ enum: DRAW_STATUSES }) status: DrawStatus;
  @ApiProperty({ format: 'date-time' }) drawTime: string;
  @ApiProperty({ description: 'Whether the caller is the winner' }) won: boolean;
  @ApiProperty({
    type: String,
    nullable: true,
    pattern: AMOUNT,
    description: 'Prize of the winner; null until drawn',
  })
  prize: string | null;
  @ApiProperty({ example: false, description: 'Whether the prize was paid out' }) paid: boolean;
  @ApiProperty({
    pattern: AMOUNT,
    example: '0',
    description: 'Amount that the contract refunds to the caller once the draw is cancelled',
  })
  refundable: string;
  @ApiProperty({
    type: String,
    enum: DUE,
    nullable: true,
    example: null,
    description:
      'Call under /lottery/calls that the caller can send now: claim the prize, take a refund, or advance the draw',
  })
  due: (typeof DUE)[number] | null;
}
