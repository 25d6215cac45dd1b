import { ApiProperty } from '@nestjs/swagger';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES, TransactionStatus, TransactionType } from '#values/types';
import { ApiAddress, ApiAmount, ApiId, ApiInteger, ApiTime } from '#platform/openapi/fields';

class Submitted {
  @ApiProperty({ pattern: '^0x[0-9a-f]{64}$' }) hash: string;
  @ApiTime() at: string;
}

export class TransactionItem {
  @ApiId() id: string;
  @ApiId() poolId: string;
  @ApiProperty({ enum: TRANSACTION_TYPES }) type: TransactionType;
  @ApiAmount() amount: string;
  @ApiProperty({ type: String, nullable: true, description: 'Hash on the chain; null while pending' })
  txHash: string | null;
  @ApiInteger(undefined, { nullable: true }) blockNumber: number | null;
  @ApiProperty({ enum: TRANSACTION_STATUSES }) status: TransactionStatus;
  @ApiProperty({
    type: Submitted,
    nullable: true,
    description:
      'Submitted payment of a pending deposit: its hash, and since when. null once it is on the chain, failed or was replaced. Only the chain confirms a payment',
  })
  submitted: Submitted | null;
  @ApiTime() createdAt: string;
  @ApiAddress('The wallet that owns the money') from: string;
}
