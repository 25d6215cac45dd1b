import { ApiProperty } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';

export class PositionItem {
  @ApiProperty({ format: 'uuid' }) poolId: string;
  @ApiProperty({ pattern: STORED_ADDRESS, description: 'The caller' }) address: string;
  @ApiProperty({ pattern: AMOUNT, description: 'All that was ever paid in' }) deposited: string;
  @ApiProperty({ pattern: AMOUNT, description: 'All that was ever taken out, without claimed yield' })
  withdrawn: string;
  @ApiProperty({
    pattern: AMOUNT,
    description: 'What can be withdrawn: `balanceOf` of the contract at `blockNumber`',
  })
  balance: string;
  @ApiProperty({
    type: String,
    pattern: AMOUNT,
    nullable: true,
    description: '`claimed` and `claimable` together; null where `claimable` is',
  })
  earned: string | null;
  @ApiProperty({ pattern: AMOUNT, description: 'Yield that was paid out' }) claimed: string;
  @ApiProperty({
    type: String,
    pattern: AMOUNT,
    nullable: true,
    description:
      'Yield that can be claimed: `claimableOf` of the contract at `blockNumber`; of a vault, what its shares are worth beyond what they have cost, by the last price that was read. Null where only the contract knows it, and of a vault before the first price',
  })
  claimable: string | null;
  @ApiProperty({
    description:
      'Whether the caller has said on the chain that its yield here is to be paid in again; GET /pools/{id}/calls/compounding changes it',
  })
  compounding: boolean;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'The last block that counts; null before any has been read',
  })
  blockNumber: number | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) blockTime: string | null;
}
