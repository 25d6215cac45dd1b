import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString } from 'class-validator';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { IsPositiveAmount } from '#ledger/chain/amounts';
import { CALL_NAMES, CallName } from './contract-calls';

export class DepositCallsQuery {
  @ApiPropertyOptional({
    pattern: AMOUNT,
    example: '25000000000000000000',
    description:
      'Smallest token units, from 1 to 2^256-1. May be left out with transaction, whose amount it must be',
  })
  @IsOptional()
  @IsPositiveAmount()
  amount?: string;

  @ApiPropertyOptional({
    format: 'uuid',
    description:
      "A pending deposit of the caller's in this pool: the payment carries its id, and confirms it",
  })
  @IsOptional()
  @IsString()
  transaction?: string;
}

export class WithdrawCallsQuery {
  @ApiProperty({
    pattern: AMOUNT,
    example: '25000000000000000000',
    description: 'Smallest token units, from 1 to 2^256-1',
  })
  @IsPositiveAmount()
  amount: string;
}

export class CompoundingCallsQuery {
  @ApiProperty({
    enum: ['true', 'false'],
    example: 'true',
    description: 'Whether yield is to be paid in again from now on',
  })
  @IsIn(['true', 'false'])
  enabled: 'true' | 'false';
}

export class TicketCallsQuery {
  @ApiProperty({ pattern: AMOUNT, example: '3', description: 'Number of tickets, at least 1' })
  @IsPositiveAmount()
  count: string;
}

export class ContractCall {
  @ApiProperty({ enum: CALL_NAMES }) name: CallName;
  @ApiProperty({ type: 'integer' }) chainId: number;
  @ApiProperty({ pattern: STORED_ADDRESS }) to: string;
  @ApiProperty({ pattern: '^0x[0-9a-f]+$', description: 'Encoded by the ABI of GET /config/abi' })
  data: string;
  @ApiProperty({ enum: ['0'], description: 'Wei: these calls send none' }) value: '0';
}

export class ContractCalls {
  @ApiProperty({ type: [ContractCall], description: 'In the order to send; wait for the receipt of each' })
  calls: ContractCall[];
}
