import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { FieldsByType } from '#ledger/chain/fields-by-type';

export class PoolCounts extends FieldsByType<number>({ type: 'integer' }) {}

/** Amounts of a token, which no other sum has. */
class OtherToken {
  @ApiProperty({ pattern: STORED_ADDRESS }) token: string;
  @ApiProperty({ description: 'Symbol; empty if the token has none' }) symbol: string;
  @ApiProperty({ type: 'integer', description: 'One token has 10^decimals units' }) decimals: number;
}

class PoolSums {
  @ApiProperty({ type: 'integer' }) totalPools: number;
  @ApiProperty({ pattern: AMOUNT, description: 'Sum of all deposits, pending included' })
  totalDeposits: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Part of totalDeposits that is not on the chain yet' })
  pendingDeposits: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Yield of all pools, as in /analytics/user' })
  totalYield: string;
  @ApiProperty({ description: 'Percent, plain mean over the pools of the token' }) averageAPR: number;
}

export class PoolsOfToken extends IntersectionType(OtherToken, PoolSums) {}

export class PoolAnalytics extends PoolSums {
  @ApiProperty({ type: 'integer', description: 'Pools of all tokens' }) declare totalPools: number;
  @ApiProperty({ type: PoolCounts, description: 'Pools of all tokens' }) byType: PoolCounts;
  @ApiProperty({
    type: [PoolsOfToken],
    description: 'Amounts of tokens other than the first, which is the one in /config',
  })
  otherTokens: PoolsOfToken[];
}

export class ChartPoint {
  @ApiProperty({ format: 'date' }) date: string;
  @ApiProperty({ pattern: AMOUNT }) amount: string;
}

export class ChartData {
  @ApiProperty({ type: [ChartPoint], description: 'Deposits by UTC day, ascending' }) deposits: ChartPoint[];
  @ApiProperty({ type: [ChartPoint], description: 'Yield claimed by UTC day, ascending' })
  yields: ChartPoint[];
}

class UserSums {
  @ApiProperty({ pattern: AMOUNT, description: 'Deposits made by the caller, pending included' })
  totalDeposited: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Part of totalDeposited that is not on the chain yet' })
  pendingDeposits: string;
  @ApiProperty({
    pattern: AMOUNT,
    description:
      "Yield accrued on the caller's own pools, without vaults and contracts that report claims only",
  })
  totalYield: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Yield claimed by the caller' }) yieldEarned: string;
  @ApiProperty({ type: 'integer', description: 'Own pools with a balance' }) activePoolsCount: number;
  @ApiProperty({ description: 'Percent, plain mean over own pools of the token' }) averageAPR: number;
  @ApiProperty({ type: ChartData }) chartData: ChartData;
}

export class UserOfToken extends IntersectionType(OtherToken, UserSums) {}

export class UserAnalytics extends UserSums {
  @ApiProperty({ type: 'integer', description: 'Own pools with a balance, of all tokens' })
  declare activePoolsCount: number;
  @ApiProperty({ format: 'date-time' }) joinedAt: string;
  @ApiProperty({
    type: [UserOfToken],
    description: 'Amounts of tokens other than the first, which is the one in /config',
  })
  otherTokens: UserOfToken[];
}
