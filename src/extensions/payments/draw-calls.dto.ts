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
    description: 'Which draw of the contract',
  })
  @Transform(toInteger)
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  drawId: number;

  @ApiPropertyOptional({
    pattern: ADDRESS.source,
    description: 'The lottery contract that holds the draw; by default the newest',
  })
  @IsOptional()
  @Matches(ADDRESS, { message: 'must be a contract address' })
  contract?: string;
}
