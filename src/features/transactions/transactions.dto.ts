import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Matches, ValidateBy } from 'class-validator';
import { TX_HASH, UUID, parseTime } from '#values/rules';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES, TransactionStatus, TransactionType } from '#values/types';
import { CursorCodec } from '#platform/answers/cursor';
import { IsAfter, IsLimit, IsPageWithout } from '#platform/answers/pagination';
import { ApiAddress, ApiAmount, ApiTime } from '#platform/openapi/fields';
import { TransactionItem } from '#ledger/chain/transaction-item';

/** Positions are transaction ids. Callers only see transactions that they may read. */
export const TRANSACTION_CURSOR = new CursorCodec('transactions', UUID);

/** With one of these, a list is read by cursor: it is not counted, so it has no numbered pages. */
export const BY_CURSOR = ['status', 'from', 'to', 'order', 'after'] as const;

const IsTime = (): PropertyDecorator =>
  ValidateBy({
    name: 'isTime',
    validator: {
      validate: (value) => parseTime(value) !== undefined,
      defaultMessage: () => 'must be a time in ISO 8601, such as 2026-01-31T12:00:00Z, or a day',
    },
  });

export class ListTransactionsQuery {
  @IsPageWithout(...BY_CURSOR)
  page?: number;

  @IsLimit(20)
  limit: number = 20;

  @ApiPropertyOptional({ description: 'Only transactions of this pool' })
  @IsOptional()
  @IsString()
  poolId?: string;

  @ApiPropertyOptional({ enum: TRANSACTION_TYPES, description: 'Only transactions of this type' })
  @IsOptional()
  @IsIn(TRANSACTION_TYPES)
  type?: TransactionType;

  @ApiPropertyOptional({ enum: TRANSACTION_STATUSES, description: 'Only transactions in this state' })
  @IsOptional()
  @IsIn(TRANSACTION_STATUSES)
  status?: TransactionStatus;

  @ApiPropertyOptional({
    format: 'date-time',
    description: 'Created at this time or later; a date means its start in UTC',
  })
  @IsOptional()
  @IsTime()
  from?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Created before this time' })
  @IsOptional()
  @IsTime()
  to?: string;

  @ApiPropertyOptional({ enum: ['asc', 'desc'], description: 'Oldest or newest first; newest by default' })
  @IsOptional()
  @IsIn(['asc', 'desc'])
  order?: 'asc' | 'desc';

  @IsAfter(TRANSACTION_CURSOR)
  after?: string;
}

export class TransactionDetail extends TransactionItem {
  @ApiTime(undefined, { nullable: true }) confirmedAt: string | null;
  @ApiAddress('Contract of the pool') to: string;
  @ApiAmount('Gas used; null until the receipt is read', { nullable: true }) gasUsed: string | null;
  @ApiAmount('Wei', { nullable: true }) gasPrice: string | null;
  @ApiAmount('Fee in wei that chains of the OP stack charge beyond gas; null elsewhere', { nullable: true })
  l1Fee: string | null;
  @ApiProperty({ description: 'Whether its block is final; false where nodes do not report finality' })
  final: boolean;
}

const HASH = {
  pattern: TX_HASH.source,
  example: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
};

export class SentRequest {
  @ApiProperty({ ...HASH, description: 'Hash of the payment, as the wallet returned it' })
  @Matches(TX_HASH, { message: 'must be the hash of a transaction' })
  hash: string;
}

export class TakeBackQuery {
  @ApiPropertyOptional({ ...HASH, description: 'Clears this hash only, not one submitted in the meantime' })
  @IsOptional()
  @Matches(TX_HASH, { message: 'must be the hash of a transaction' })
  hash?: string;
}
