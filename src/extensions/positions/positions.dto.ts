import { ApiProperty } from '@nestjs/swagger';
import { ApiAddress, ApiAmount, ApiId, ApiInteger, ApiTime } from '#platform/openapi/fields';

export class PositionItem {
  @ApiId() poolId: string;
  @ApiAddress('The caller') address: string;
  @ApiAmount('Sum of all deposits') deposited: string;
  @ApiAmount('Sum of all withdrawals, without claimed yield') withdrawn: string;
  @ApiAmount('Withdrawable amount: `balanceOf` of the contract at `blockNumber`') balance: string;
  @ApiAmount('Sum of `claimed` and `claimable`; null where `claimable` is', { nullable: true })
  earned: string | null;
  @ApiAmount('Yield paid out') claimed: string;
  @ApiAmount(
    'Claimable yield: `claimableOf` of the contract at `blockNumber`; of a vault, the value of its shares beyond their cost. null where only the contract knows it, and before the first price',
    { nullable: true },
  )
  claimable: string | null;
  @ApiProperty({
    description:
      'Whether the caller has enabled compounding on the chain; GET /pools/{id}/calls/compounding changes it',
  })
  compounding: boolean;
  @ApiInteger('Block of these amounts; null before any has been read', { nullable: true })
  blockNumber: number | null;
  @ApiTime(undefined, { nullable: true }) blockTime: string | null;
}
