import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { ApiAddress, ApiAmount, ApiInteger, ApiTime } from '#platform/openapi/fields';
import { FieldsByType } from '#ledger/chain/fields-by-type';

export class PoolCounts extends FieldsByType<number>({ type: 'integer' }) {}

/** Amounts of a token, which no other sum has. */
class OtherToken {
  @ApiAddress() token: string;
  @ApiProperty({ description: 'Symbol; empty if the token has none' }) symbol: string;
  @ApiInteger('One token has 10^decimals units') decimals: number;
}

class PoolSums {
  @ApiInteger() totalPools: number;
  @ApiAmount('Sum of all deposits, pending included') totalDeposits: string;
  @ApiAmount('Part of totalDeposits that is not on the chain yet') pendingDeposits: string;
  @ApiAmount('Yield of all pools, as in /analytics/user') totalYield: string;
  @ApiProperty({ description: 'Percent, plain mean over the pools of the token' }) averageAPR: number;
}

export class PoolsOfToken extends IntersectionType(OtherToken, PoolSums) {}

export class PoolAnalytics extends PoolSums {
  @ApiInteger('Pools of all tokens') declare totalPools: number;
  @ApiProperty({ type: PoolCounts, description: 'Pools of all tokens' }) byType: PoolCounts;
  @ApiProperty({ type: [PoolsOfToken], description: 'Amounts of tokens other than the one in /config' })
  otherTokens: PoolsOfToken[];
}

export class ChartPoint {
  @ApiProperty({ format: 'date' }) date: string;
  @ApiAmount() amount: string;
}

export class ChartData {
  @ApiProperty({ type: [ChartPoint], description: 'Deposits by UTC day, ascending' }) deposits: ChartPoint[];
  @ApiProperty({ type: [ChartPoint], description: 'Yield claimed by UTC day, ascending' })
  yields: ChartPoint[];
}

class UserSums {
  @ApiAmount('Deposits made by the caller, pending included') totalDeposited: string;
  @ApiAmount('Part of totalDeposited that is not on the chain yet') pendingDeposits: string;
  @ApiAmount("Yield accrued on the caller's own pools, without vaults and contracts that report claims only")
  totalYield: string;
  @ApiAmount('Yield claimed by the caller') yieldEarned: string;
  @ApiInteger('Own pools with a balance') activePoolsCount: number;
  @ApiProperty({ description: 'Percent, plain mean over own pools of the token' }) averageAPR: number;
  @ApiProperty({ type: ChartData }) chartData: ChartData;
}

export class UserOfToken extends IntersectionType(OtherToken, UserSums) {}

export class UserAnalytics extends UserSums {
  @ApiInteger('Own pools with a balance, of all tokens') declare activePoolsCount: number;
  @ApiTime() joinedAt: string;
  @ApiProperty({ type: [UserOfToken], description: 'Amounts of tokens other than the one in /config' })
  otherTokens: UserOfToken[];
}
