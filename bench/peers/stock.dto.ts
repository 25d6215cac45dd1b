import { Exclude, Expose, Transform, Type, plainToInstance } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsEthereumAddress,
  IsIn,
  IsInt,
  IsOptional,
  Matches,
  Max,
  Min,
} from 'class-validator';
import type { LotteryDraw, Pool, Transaction } from './stock.entities';

/** What goes in and out, in the way of the documentation: classes with decorators for class-transformer. */

export class PageQuery {
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) page: number = 1;
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) @Max(100) limit: number = 20;
  @IsOptional() @Matches(/^\w+$/) type?: string;
}

export class WinnersQuery extends PageQuery {
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) @Max(100) override limit: number = 10;
}

export class CreatePool {
  @IsIn(['individual', 'cooperative', 'lottery', 'rotating']) type: string;
  @Matches(/^\d+$/) initialDeposit: string;
  @IsOptional() @IsBoolean() autoCompound: boolean = false;
  @IsOptional() @IsArray() @Matches(/^0x[a-fA-F0-9]{40}$/, { each: true }) members: string[] = [];
}

export class NonceRequest {
  @IsEthereumAddress() address: string;
}

/** From the entity only: what the interceptor serialises is the result. */
const From = <T>(read: (entity: T) => unknown): PropertyDecorator =>
  Transform(({ obj }: { obj: T }) => read(obj), { toClassOnly: true });
const Iso = (): PropertyDecorator =>
  Transform(({ value }: { value: Date | null }) => value?.toISOString() ?? null, { toClassOnly: true });
const Whole = (): PropertyDecorator =>
  Transform(({ value }: { value: string }) => Number(value), { toClassOnly: true });

@Exclude()
export class TransactionSummary {
  @Expose() id: string;
  @Expose() type: string;
  @Expose() amount: string;
  @Expose() txHash: string | null;
  @Expose() @Iso() createdAt: Date;
}

@Exclude()
class PoolFields {
  @Expose() id: string;
  @Expose() type: string;
  @Expose() contractAddress: string;
  @Expose() balance: string;
  @Expose() pendingBalance: string;
  @Expose() totalYield: string;
  @Expose() @From((entity: Pool) => entity.aprBps / 100) apr: number;
  @Expose() autoCompound: boolean;
  @Expose() @Iso() createdAt: Date;
  @Expose() @Iso() lastUpdate: Date;
}

const newest = (limit: number) =>
  From(({ transactions }: Pool) =>
    plainToInstance(
      TransactionSummary,
      [...transactions].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit),
    ),
  );

@Exclude()
export class PoolItem extends PoolFields {
  @Expose()
  @From(({ members }: Pool) => members.filter(({ role }) => role === 'MEMBER').length)
  members: number;
  @Expose() @newest(10) recentTransactions: TransactionSummary[];
}

@Exclude()
export class PoolDetail extends PoolFields {
  @Expose()
  @From(({ owner }: Pool) => ({ id: owner.id, address: owner.address }))
  owner: object;
  @Expose() @newest(100) transactions: TransactionSummary[];
}

@Exclude()
export class TransactionItem {
  @Expose() id: string;
  @Expose() poolId: string;
  @Expose() type: string;
  @Expose() amount: string;
  @Expose() txHash: string | null;
  @Expose()
  @From(({ blockNumber }: Transaction) => (blockNumber === null ? null : Number(blockNumber)))
  blockNumber: number | null;
  @Expose() status: string;
  @Expose() @Iso() createdAt: Date;
}

@Exclude()
export class TransactionDetail extends TransactionItem {
  @Expose() @Iso() confirmedAt: Date | null;
  @Expose() @From((entity: Transaction) => entity.account) from: string;
  @Expose() @From((entity: Transaction) => entity.pool.contractAddress) to: string;
  @Expose() gasUsed: string | null;
  @Expose() gasPrice: string | null;
}

@Exclude()
export class CurrentDraw {
  @Expose() @Whole() drawId: number;
  @Expose() contract: string;
  @Expose() prizePool: string;
  @Expose() participants: number;
  @Expose() @Whole() totalTickets: number;
  @Expose() @From((entity: LotteryDraw) => entity.totalTickets) totalTicketsExact: string;
  @Expose() @Iso() drawTime: Date;
  @Expose() status: string;
}

@Exclude()
export class Winner {
  @Expose() @Whole() drawId: number;
  @Expose() contract: string;
  @Expose() winner: string;
  @Expose() prize: string;
  @Expose() @From((entity: LotteryDraw) => Number(entity.winnerTickets)) tickets: number;
  @Expose() @From((entity: LotteryDraw) => entity.winnerTickets) ticketsExact: string;
  @Expose() @Whole() totalTickets: number;
  @Expose() @From((entity: LotteryDraw) => entity.totalTickets) totalTicketsExact: string;
  @Expose() @Iso() drawnAt: Date;
}
