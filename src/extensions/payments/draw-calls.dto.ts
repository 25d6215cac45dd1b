import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { ADDRESS } from '#values/rules';
import { toInteger } from '#platform/answers/pagination';

export class DrawCallsQuery {
  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    example: 1,
    description: 'Number of the draw within its contract',
  })
  @Transform(toInteger)
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  drawId: number;

  @ApiPropertyOptional({
    pattern: ADDRESS.source,
    description: 'Lottery contract of the draw; the newest by default',
  })
  @IsOptional()
  @Matches(ADDRESS, { message: 'must be a contract address' })
  contract?: string;
}
