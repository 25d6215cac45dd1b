import { ApiProperty } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';

export class PositionItem {
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ pattern: STORED_ADDRESS, description: 'The caller' }) address: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Sum of all deposits' }) deposited: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Sum of all withdrawals, without claimed yield' })
  withdrawn: string;
  @ApiProperty({
    pattern: AMOUNT,
    description: 'Withdrawable amount: `balanceOf` of the contract at `blockNumber`',
  })
  balance: string;
  @ApiProperty({
    type: String,
    pattern: AMOUNT,
    nullable: true,
    description: 'Sum of `claimed` and `claimable`; null where `claimable` is',
  })
  earned: string | null;
  @ApiProperty({ pattern: AMOUNT, description: 'Yield paid out' }) claimed: string;
  @ApiProperty({
    type: String,
    pattern: AMOUNT,
    nullable: true,
    description:
      'Claimable yield: `claimableOf` of the contract at `blockNumber`; of a vault, the value of its shares beyond their cost. null where only the contract knows it, and before the first price',
  })
  claimable: string | null;
  @ApiProperty({
    description:
      'Whether the caller has enabled compounding on the chain; GET /pools/{id}/calls/compounding changes it',
  })
  compounding: boolean;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Block of these amounts; null before any has been read',
  })
  blockNumber: number | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) blockTime: string | null;
}
