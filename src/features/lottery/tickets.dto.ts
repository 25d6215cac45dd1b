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
  @ApiProperty({ pattern: AMOUNT, description: 'Of one ticket, in smallest token units' })
  ticketPrice: string;
  @ApiProperty({ pattern: AMOUNT, description: 'What the tickets of the caller cost' }) spent: string;
  @ApiProperty({
    pattern: AMOUNT,
    example: '0',
    description: 'What the caller gave to the prize beside tickets',
  })
  gifts: string;
  @ApiProperty({ enum: DRAW_STATUSES }) status: DrawStatus;
  @ApiProperty({ format: 'date-time' }) drawTime: string;
  @ApiProperty({ description: 'Whether the caller is the winner' }) won: boolean;
  @ApiProperty({
    type: String,
    nullable: true,
    pattern: AMOUNT,
    description: 'What the winner gets; null until drawn',
  })
  prize: string | null;
  @ApiProperty({ example: false, description: 'Whether the winner has the prize' }) paid: boolean;
  @ApiProperty({
    pattern: AMOUNT,
    example: '0',
    description:
      'What the contract gives back to the caller: all that was paid in, once the draw is cancelled',
  })
  refundable: string;
  @ApiProperty({
    type: String,
    enum: DUE,
    nullable: true,
    example: null,
    description:
      'What the caller may do now, by the call of this name under /lottery/calls: take the prize or the money back, or move the draw on as anyone may',
  })
  due: (typeof DUE)[number] | null;
}
