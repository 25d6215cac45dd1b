import { ApiProperty } from '@nestjs/swagger';
import { DRAW_STATUSES, DrawStatus } from '#values/types';
import { PageQuery } from '#platform/answers/pagination';
import { CONTRACT, COUNT, DRAW_ID, EXACT } from './lottery.dto';

const AMOUNT = { pattern: '^\\d+$' } as const;

export class ListTicketsQuery extends PageQuery {}

/** A draw for which the caller has tickets. */
export class DrawEntry {
  @ApiProperty(DRAW_ID) drawId: number;
  @ApiProperty(CONTRACT) contract: string;
  @ApiProperty({ ...COUNT, description: `Tickets that the caller holds. ${COUNT.description}` })
  tickets: number;
  @ApiProperty(EXACT) ticketsExact: string;
  @ApiProperty(COUNT) totalTickets: number;
  @ApiProperty(EXACT) totalTicketsExact: string;
  @ApiProperty({ ...AMOUNT, description: 'Of one ticket, in smallest token units' }) ticketPrice: string;
  @ApiProperty({ ...AMOUNT, description: 'What the tickets of the caller cost' }) spent: string;
  @ApiProperty({ enum: DRAW_STATUSES }) status: DrawStatus;
  @ApiProperty({ format: 'date-time' }) drawTime: string;
  @ApiProperty({ description: 'Whether the caller is the winner' }) won: boolean;
  @ApiProperty({
    type: String,
    nullable: true,
    ...AMOUNT,
    description: 'What the winner gets; null until drawn',
  })
  prize: string | null;
}
