import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { FieldsByType } from '#ledger/chain/fields-by-type';

export class PoolCounts extends FieldsByType<number>({ type: 'integer' }) {}

/** Amounts of a token, which no other sum has. */
class OtherToken {
  @ApiProperty({ pattern: STORED_ADDRESS }) token: string;
  @ApiProperty({ description: 'Empty if the token has none' }) symbol: string;
  @ApiProperty({ type: 'integer', description: 'Of one token there are 10^decimals units' }) decimals: number;
}

class PoolSums {
  @ApiProperty({ type: 'integer' }) totalPools: number;
  @ApiProperty({ pattern: AMOUNT, description: 'Sum of all deposits, pending included' })
  totalDeposits: string;
  @ApiProperty({ pattern: AMOUNT, description: 'The part of totalDeposits that is not on the chain yet' })
  pendingDeposits: string;
  @ApiProperty({ pattern: AMOUNT, description: 'As in /analytics/user, of all pools' }) totalYield: string;
  @ApiProperty({ description: 'Percent, plain mean over the pools of the token' }) averageAPR: number;
}

export class PoolsOfToken extends IntersectionType(OtherToken, PoolSums) {}

export class PoolAnalytics extends PoolSums {
  @ApiProperty({ type: 'integer', description: 'Of all tokens' }) declare totalPools: number;
  @ApiProperty({ type: PoolCounts, description: 'Of all tokens' }) byType: PoolCounts;
  @ApiProperty({
    type: [PoolsOfToken],
    description:
      'Where contracts have several tokens: the amounts of all but the first, which is the one in /config',
  })
  otherTokens: PoolsOfToken[];
}

export class ChartPoint {
  @ApiProperty({ format: 'date' }) date: string;
  @ApiProperty({ pattern: AMOUNT }) amount: string;
}

export class ChartData {
  @ApiProperty({ type: [ChartPoint], description: 'Deposited by UTC day, ascending' }) deposits: ChartPoint[];
  @ApiProperty({ type: [ChartPoint], description: 'Yield claimed by UTC day, ascending' })
  yields: ChartPoint[];
}

class UserSums {
  @ApiProperty({ pattern: AMOUNT, description: 'Deposits made by the caller, pending included' })
  totalDeposited: string;
  @ApiProperty({ pattern: AMOUNT, description: 'The part of totalDeposited that is not on the chain yet' })
  pendingDeposits: string;
  @ApiProperty({
    pattern: AMOUNT,
    description:
      "Accrued on the caller's own pools, as far as their contracts tell accruals: vaults, and contracts that tell claims alone, are left out",
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
    description:
      'Where the caller has several tokens: what there is of all but the first, which is the one in /config',
  })
  otherTokens: UserOfToken[];
}
