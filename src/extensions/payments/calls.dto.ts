import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Matches, Max, Min } from 'class-validator';
import { ADDRESS, AMOUNT } from '#values/rules';
import { toInteger } from '#platform/answers/pagination';
import { ApiAddress, ApiAmount, ApiInteger } from '#platform/openapi/fields';
import { IsPositiveAmount } from '#ledger/chain/amounts';

const DRAW_CALLS = ['claimPrize', 'refund', 'completeDraw', 'cancelDraw'] as const;
export type DrawCall = (typeof DRAW_CALLS)[number];

const CALL_NAMES = [
  'approve',
  'deposit',
  'withdraw',
  'claimYield',
  'startCompounding',
  'stopCompounding',
  'buyTickets',
  ...DRAW_CALLS,
  'openCircle',
  'join',
  'contribute',
  'claimPayout',
  'claimRefund',
  'endRound',
  'cancelCircle',
] as const;
export type CallName = (typeof CALL_NAMES)[number];

export class DepositCallsQuery {
  @ApiPropertyOptional({
    pattern: AMOUNT,
    example: '25000000000000000000',
    description:
      'Smallest token units, from 1 to 2^256-1; optional with `transaction`, whose amount it must equal',
  })
  @IsOptional()
  @IsPositiveAmount()
  amount?: string;

  @ApiPropertyOptional({
    format: 'uuid',
    description: 'Pending deposit of the caller in this pool, which the payment confirms',
  })
  @IsOptional()
  @IsString()
  transaction?: string;
}

export class WithdrawCallsQuery {
  @ApiAmount('Amount in smallest token units, from 1 to 2^256-1', { example: '25000000000000000000' })
  @IsPositiveAmount()
  amount: string;
}

export class CompoundingCallsQuery {
  @ApiProperty({
    enum: ['true', 'false'],
    example: 'true',
    description: 'Whether yield compounds from now on',
  })
  @IsIn(['true', 'false'])
  enabled: 'true' | 'false';
}

export class TicketCallsQuery {
  @ApiAmount('Number of tickets, at least 1', { example: '3' })
  @IsPositiveAmount()
  count: string;
}

export class DrawCallsQuery {
  @ApiInteger('Number of the draw within its contract', {
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    example: 1,
  })
  @Transform(toInteger)
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  drawId: number;

  @ApiPropertyOptional({ pattern: ADDRESS.source, description: 'Lottery contract; the newest by default' })
  @IsOptional()
  @Matches(ADDRESS, { message: 'must be a contract address' })
  contract?: string;
}

export class ContractCall {
  @ApiProperty({ enum: CALL_NAMES }) name: CallName;
  @ApiInteger() chainId: number;
  @ApiAddress() to: string;
  @ApiProperty({ pattern: '^0x[0-9a-f]+$', description: 'Call data, encoded by the ABI of GET /config/abi' })
  data: string;
  @ApiAmount("Value in wei: what is paid in, if the contract holds the chain's own coin; else 0")
  value: string;
}

export class ContractCalls {
  @ApiProperty({ type: [ContractCall], description: 'In the order to send; wait for each receipt' })
  calls: ContractCall[];
}
