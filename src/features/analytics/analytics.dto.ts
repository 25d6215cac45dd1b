import { ApiProperty } from '@nestjs/swagger';
import { FieldsByType } from '#ledger/chain/fields-by-type';

const AMOUNT = '^\\d+$';

export class PoolCounts extends FieldsByType<number>({ type: 'integer' }) {}

export class PoolAnalytics {
  @ApiProperty({ type: 'integer' }) totalPools: number;
  @ApiProperty({ pattern: AMOUNT, description: 'Sum of all deposits, pending included' })
  totalDeposits: string;
  @ApiProperty({ pattern: AMOUNT, description: 'The part of totalDeposits that is not on the chain yet' })
  pendingDeposits: string;
  @ApiProperty({ pattern: AMOUNT }) totalYield: string;
  @ApiProperty({ description: 'Percent, plain mean over all pools' }) averageAPR: number;
  @ApiProperty({ type: PoolCounts }) byType: PoolCounts;
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

export class UserAnalytics {
  @ApiProperty({ pattern: AMOUNT, description: 'Deposits made by the caller, pending included' })
  totalDeposited: string;
  @ApiProperty({ pattern: AMOUNT, description: 'The part of totalDeposited that is not on the chain yet' })
  pendingDeposits: string;
  @ApiProperty({ pattern: AMOUNT, description: "Accrued on the caller's own pools" }) totalYield: string;
  @ApiProperty({ pattern: AMOUNT, description: 'Yield claimed by the caller' }) yieldEarned: string;
  @ApiProperty({ type: 'integer', description: 'Own pools with a balance' }) activePoolsCount: number;
  @ApiProperty({ description: 'Percent, plain mean over own pools' }) averageAPR: number;
  @ApiProperty({ format: 'date-time' }) joinedAt: string;
  @ApiProperty({ type: ChartData }) chartData: ChartData;
}
