import { ApiProperty } from '@nestjs/swagger';
import { AMOUNT } from '#values/rules';
import { DRAW_STATUSES, DrawStatus } from '#values/types';
import { CONTRACT, COUNT, DRAW_ID, EXACT, MOVING_ON } from './lottery.dto';

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
