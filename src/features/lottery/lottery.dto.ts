import { ApiProperty } from '@nestjs/swagger';
import { DRAW_STATUSES, DrawStatus } from '#values/types';
import { CursorCodec } from '#platform/answers/cursor';
import { IsAfter, IsLimit, IsPageWithout } from '#platform/answers/pagination';
import { ApiAddress, ApiAmount, ApiInteger, ApiTime } from '#platform/openapi/fields';

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

const AT_MOST = { maximum: Number.MAX_SAFE_INTEGER };
const LIMITED = 'At most 2^53 - 1, also for larger numbers; the field ending in `Exact` has no limit';
const EXACT = 'The exact number in decimal digits, however large';

class Draw {
  @ApiInteger('Number of the draw within its contract. Draws beyond 2^53 - 1 are not shown', AT_MOST)
  drawId: number;
  @ApiAddress('Lottery contract of the draw') contract: string;
  @ApiInteger(LIMITED, AT_MOST) totalTickets: number;
  @ApiAmount(EXACT) totalTicketsExact: string;
}

/** What anyone may do to move a draw on that its owner does not. */
const MOVING_ON = ['complete', 'cancel'] as const;

export class CurrentDraw extends Draw {
  @ApiAmount() prizePool: string;
  @ApiAmount('Price of one ticket, in smallest token units') ticketPrice: string;
  @ApiInteger() participants: number;
  @ApiTime() drawTime: string;
  @ApiProperty({ enum: DRAW_STATUSES }) status: DrawStatus;
  @ApiProperty({
    type: String,
    enum: MOVING_ON,
    nullable: true,
    example: null,
    description: 'Call under /lottery/calls that anyone can send now',
  })
  due: (typeof MOVING_ON)[number] | null;
}

export class Winner extends Draw {
  @ApiAddress() winner: string;
  @ApiAmount() prize: string;
  @ApiInteger(`Tickets that the winner held. ${LIMITED}`, AT_MOST)
  tickets: number;
  @ApiAmount(EXACT) ticketsExact: string;
  @ApiTime() drawnAt: string;
}

const DUE = ['claim', 'refund', ...MOVING_ON] as const;

/** A draw into which the caller paid, for tickets or as a gift. */
export class DrawEntry extends Draw {
  @ApiInteger(`Tickets that the caller holds. ${LIMITED}`, AT_MOST)
  tickets: number;
  @ApiAmount(EXACT) ticketsExact: string;
  @ApiAmount('Price of one ticket, in smallest token units') ticketPrice: string;
  @ApiAmount("Price of the caller's tickets") spent: string;
  @ApiAmount('Gifts of the caller to the prize', { example: '0' }) gifts: string;
  @ApiProperty({ enum: DRAW_STATUSES }) status: DrawStatus;
  @ApiTime() drawTime: string;
  @ApiProperty({ description: 'Whether the caller is the winner' }) won: boolean;
  @ApiAmount('Prize of the winner; null until drawn', { nullable: true }) prize: string | null;
  @ApiProperty({ example: false, description: 'Whether the prize was paid out' }) paid: boolean;
  @ApiAmount('Amount that the contract refunds to the caller once the draw is cancelled', { example: '0' })
  refundable: string;
  @ApiProperty({
    type: String,
    enum: DUE,
    nullable: true,
    example: null,
    description: 'Call under /lottery/calls that the caller can send now',
  })
  due: (typeof DUE)[number] | null;
}
