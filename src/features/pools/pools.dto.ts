import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsArray, IsBoolean, IsIn, IsOptional, Matches } from 'class-validator';
import { ADDRESS, STORED_ADDRESS, UUID } from '#values/rules';
import { POOL_TYPES, PoolType } from '#values/types';
import { CursorCodec } from '#platform/answers/cursor';
import { IsAfter, IsLimit, IsPageWithout } from '#platform/answers/pagination';
import type { ElementContext } from '#platform/errors/violations';
import { ApiAddress, ApiAmount, ApiId, ApiInteger, ApiTime } from '#platform/openapi/fields';
import { IsAmount } from '#ledger/chain/amounts';
import { TransactionItem } from '#ledger/chain/transaction-item';

const everyElement: ElementContext = {
  element: (value) => typeof value === 'string' && ADDRESS.test(value),
};

/** Positions are pool ids. Callers only see pools that they may read. */
export const POOL_CURSOR = new CursorCodec('pools', UUID);

export class ListPoolsQuery {
  @IsPageWithout('after')
  page?: number;

  @IsLimit(20)
  limit: number = 20;

  @IsAfter(POOL_CURSOR)
  after?: string;

  @ApiPropertyOptional({ enum: POOL_TYPES, description: 'Only pools of this type' })
  @IsOptional()
  @IsIn(POOL_TYPES)
  type?: PoolType;
}

export class CreatePoolRequest {
  @ApiProperty({ enum: POOL_TYPES, description: 'Decides which contract holds its deposits' })
  @IsIn(POOL_TYPES)
  type: PoolType;

  @ApiAmount('Smallest token units, at least the minimum deposit')
  @IsAmount()
  initialDeposit: string;

  @ApiPropertyOptional({
    pattern: ADDRESS.source,
    description: 'One of `furtherContracts` of `/config`; by default the one of `contracts`',
  })
  @IsOptional()
  @Matches(ADDRESS, { message: 'must be an address' })
  contract?: string;

  @ApiPropertyOptional({ description: 'Whether yield should compound; false by default' })
  @IsOptional()
  @IsBoolean()
  autoCompound: boolean = false;

  @ApiPropertyOptional({
    type: [String],
    description: 'Wallets that can read the pool, at most 100; duplicates and the owner are dropped',
  })
  @IsOptional()
  @IsArray()
  @Matches(ADDRESS, { each: true, message: 'must be a wallet address', context: everyElement })
  members: string[] = [];
}

export class UpdatePoolRequest {
  @ApiProperty({ description: 'Whether yield should compound' })
  @IsBoolean()
  autoCompound: boolean;
}

const TWENTY_FIVE = '25000000000000000000';
export const CREATE_POOL_EXAMPLES = {
  alone: { summary: 'For oneself', value: { type: 'individual', initialDeposit: TWENTY_FIVE } },
  together: {
    summary: 'With others, yield paid in again',
    value: {
      type: 'cooperative',
      initialDeposit: TWENTY_FIVE,
      autoCompound: true,
      members: ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', '0x90f79bf6eb2c4f870365e785982e1f101e93b906'],
    },
  },
};

class PoolIdentity {
  @ApiId() id: string;
  @ApiProperty({ enum: POOL_TYPES }) type: PoolType;
  @ApiAddress() contractAddress: string;
  @ApiAmount() balance: string;
  @ApiTime() createdAt: string;
}

export class CreatedPool extends PoolIdentity {
  @ApiId('The pending DEPOSIT, which GET /pools/{id}/calls/deposit pays') depositId: string;
}

export class UpdatedPool {
  @ApiId() id: string;
  @ApiProperty() autoCompound: boolean;
  @ApiProperty({
    description: 'Whether the owner has enabled compounding on the chain, which alone moves yield',
  })
  compounding: boolean;
}

export class LeftPool {
  @ApiId() poolId: string;
}

export class CancelledPoolId {
  @ApiId() id: string;
}

export class TransactionSummary extends OmitType(TransactionItem, ['poolId', 'blockNumber']) {}

class PoolFields extends PoolIdentity {
  @ApiAmount('Part of the balance that is not on the chain yet') pendingBalance: string;
  @ApiAmount() totalYield: string;
  @ApiProperty({ description: 'Percent' }) apr: number;
  @ApiProperty() autoCompound: boolean;
  @ApiTime() lastUpdate: string;
}

export class PoolItem extends PoolFields {
  @ApiInteger('Number of members, without the owner') members: number;
  @ApiProperty({ type: [TransactionSummary], description: 'The 10 newest, newest first' })
  recentTransactions: TransactionSummary[];
}

export class PoolOwner {
  @ApiId() id: string;
  @ApiAddress() address: string;
}

export class PoolDetail extends PoolFields {
  @ApiProperty({ type: PoolOwner }) owner: PoolOwner;
  @ApiProperty({
    type: 'array',
    items: { type: 'string', pattern: STORED_ADDRESS },
    description: 'Addresses without the owner, ascending',
  })
  memberAddresses: string[];
  @ApiProperty({
    type: [TransactionSummary],
    description: 'The 100 newest, newest first; `GET /transactions?poolId=` has all',
  })
  transactions: TransactionSummary[];
}

export class YieldReport {
  @ApiAmount('Yield accrued since the pool was created; of a vault, what was and can be claimed')
  totalYield: string;
  @ApiAmount('Yield that all savers of the pool can claim together') claimableYield: string;
  @ApiProperty({ description: 'Percent' }) apr: number;
  @ApiProperty({ description: 'Percent, daily compounding of apr' }) apy: number;
  @ApiTime(undefined, { nullable: true }) lastClaimed: string | null;
}
