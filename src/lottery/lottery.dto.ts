import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { PageQuery, toInteger } from '../common/pagination';
import { DRAW_STATUSES, DrawStatus } from '../common/types';
import { MemoizedQuery } from '../common/validation.pipe';

@MemoizedQuery()
export class ListWinnersQuery extends PageQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 10 })
  @Transform(toInteger)
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(100)
  override limit: number = 10;
}

export class CurrentDraw {
  @ApiProperty({ type: 'integer' }) drawId: number;
  @ApiProperty({ pattern: '^\\d+$' }) prizePool: string;
  @ApiProperty({ type: 'integer' }) participants: number;
  @ApiProperty({ type: 'integer' }) totalTickets: number;
  @ApiProperty({ format: 'date-time' }) drawTime: string;
  @ApiProperty({ enum: DRAW_STATUSES }) status: DrawStatus;
}

export class Winner {
  @ApiProperty({ type: 'integer' }) drawId: number;
  @ApiProperty({ pattern: '^0x[0-9a-f]{40}$' }) winner: string;
  @ApiProperty({ pattern: '^\\d+$' }) prize: string;
  @ApiProperty({ type: 'integer', description: 'Tickets that the winner held' }) tickets: number;
  @ApiProperty({ type: 'integer' }) totalTickets: number;
  @ApiProperty({ format: 'date-time' }) drawnAt: string;
}
