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
    'Claimable yield at `blockNumber`; null where only the contract knows it, and before the first price of a vault',
    { nullable: true },
  )
  claimable: string | null;
  @ApiProperty({ description: 'Whether the caller has enabled compounding on the chain' })
  compounding: boolean;
  @ApiInteger('Block of these amounts; null before any has been read', { nullable: true })
  blockNumber: number | null;
  @ApiTime(undefined, { nullable: true }) blockTime: string | null;
}
