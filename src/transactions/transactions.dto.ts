import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString } from 'class-validator';
import { PageQuery } from '../common/pagination';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES, TransactionStatus, TransactionType } from '../common/types';
import { MemoizedQuery } from '../common/validation.pipe';

@MemoizedQuery()
export class ListTransactionsQuery extends PageQuery {
  @ApiPropertyOptional({ description: 'Only transactions of this pool' })
  @IsOptional()
  @IsString()
  poolId?: string;

  @ApiPropertyOptional({ enum: TRANSACTION_TYPES, description: 'Only transactions of this type' })
  @IsOptional()
  @IsIn(TRANSACTION_TYPES)
  type?: TransactionType;
}

export class TransactionItem {
  @ApiProperty({ format: 'uuid' }) id: string;
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ enum: TRANSACTION_TYPES }) type: TransactionType;
  @ApiProperty({ pattern: '^\\d+$' }) amount: string;
  @ApiProperty({ type: String, nullable: true, description: 'null until the deposit is seen on the chain' })
  txHash: string | null;
  @ApiProperty({ type: 'integer', nullable: true }) blockNumber: number | null;
  @ApiProperty({ enum: TRANSACTION_STATUSES }) status: TransactionStatus;
  @ApiProperty({ format: 'date-time' }) createdAt: string;
}

export class TransactionDetail extends TransactionItem {
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) confirmedAt: string | null;
  @ApiProperty({ pattern: '^0x[0-9a-f]{40}$' }) from: string;
  @ApiProperty({ pattern: '^0x[0-9a-f]{40}$', description: 'The contract of the pool' }) to: string;
  @ApiProperty({
    type: String,
    nullable: true,
    pattern: '^\\d+$',
    description: 'null until the receipt was read',
  })
  gasUsed: string | null;
  @ApiProperty({ type: String, nullable: true, pattern: '^\\d+$', description: 'Wei' })
  gasPrice: string | null;
}
