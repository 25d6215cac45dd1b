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
    description: 'Contribution of each member in a round, from 1 to 2^128-1 smallest token units',
  })
  @IsPositiveAmount()
  contribution: string;

  @ApiPropertyOptional({
    pattern: AMOUNT,
    example: '50000000000000000000',
    description:
      'Amount that each member locks to join, up to 2^128-1; 0 by default. It covers missing payments',
  })
  @IsOptional()
  @IsAmount()
  collateral?: string;

  @ApiProperty({
    type: 'integer',
    minimum: SHORTEST,
    maximum: LONGEST,
    example: 2_592_000,
    description: 'Length of a round, in seconds',
  })
  @Transform(toInteger)
  @IsInt()
  @Min(SHORTEST)
  @Max(LONGEST)
  period: number;

  @ApiProperty({
    pattern: TIME,
    example: '2026-12-21T05:00:00Z',
    description: 'Deadline for joining, at most a year from now',
  })
  @Matches(new RegExp(TIME), { message: 'must be a time in UTC, as 2026-12-21T05:00:00Z' })
  joinBy: string;

  @ApiProperty({
    pattern: ADDRESSES,
    example: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8,0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
    description: 'Members in the order of their turns: 2 to 32 addresses, separated by commas',
  })
  @Matches(new RegExp(ADDRESSES), { message: 'must be 2 to 32 addresses with commas between them' })
  members: string;
}

export class CirclePaymentQuery {
  @ApiPropertyOptional({
    format: 'uuid',
    description:
      'Pending deposit of the caller in this pool, of exactly this amount, which the payment confirms',
  })
  @IsOptional()
  @IsString()
  transaction?: string;
}
