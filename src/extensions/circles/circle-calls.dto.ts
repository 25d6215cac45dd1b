import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, IsString, Matches, Max, Min } from 'class-validator';
import { AMOUNT } from '#values/rules';
import { toInteger } from '#platform/answers/pagination';
import { IsAmount, IsPositiveAmount } from '#ledger/chain/amounts';

const ADDRESSES = '^0x[a-fA-F0-9]{40}(,0x[a-fA-F0-9]{40}){1,31}$';
const TIME = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,3})?Z$';
/** Seconds. */
const [SHORTEST, LONGEST] = [3600, 366 * 86_400];

/** What the members agree on, for good. */
export class OpenCircleQuery {
  @ApiProperty({
    pattern: AMOUNT,
    example: '25000000000000000000',
    description: 'What each member pays in a round, from 1 to 2^128-1 smallest token units',
  })
  @IsPositiveAmount()
  contribution: string;

  @ApiPropertyOptional({
    pattern: AMOUNT,
    example: '50000000000000000000',
    description:
      'What each member locks to join, up to 2^128-1; by default nothing. It pays for who does not',
  })
  @IsOptional()
  @IsAmount()
  collateral?: string;

  @ApiProperty({
    type: 'integer',
    minimum: SHORTEST,
    maximum: LONGEST,
    example: 2_592_000,
    description: 'How long a round is, in seconds',
  })
  @Transform(toInteger)
  @IsInt()
  @Min(SHORTEST)
  @Max(LONGEST)
  period: number;

  @ApiProperty({
    pattern: TIME,
    example: '2026-12-21T05:00:00Z',
    description: 'Until when members may join: at most a year from now',
  })
  @Matches(new RegExp(TIME), { message: 'must be a time in UTC, as 2026-12-21T05:00:00Z' })
  joinBy: string;

  @ApiProperty({
    pattern: ADDRESSES,
    example: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8,0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
    description: 'The members in the order of their turns, 2 to 32 addresses with commas between them',
  })
  @Matches(new RegExp(ADDRESSES), { message: 'must be 2 to 32 addresses with commas between them' })
  members: string;
}

export class CirclePaymentQuery {
  @ApiPropertyOptional({
    format: 'uuid',
    description:
      "A pending deposit of the caller's in this pool, of just this amount: the payment carries its id, and confirms it",
  })
  @IsOptional()
  @IsString()
  transaction?: string;
}
