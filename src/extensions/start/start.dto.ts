import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Pagination } from '#platform/answers/pagination';
import { TransactionItem } from '#ledger/chain/transaction-item';
import { UserAnalytics } from '#features/analytics/analytics.dto';
import { CurrentDraw, DrawEntry, Winner } from '#features/lottery/lottery.dto';
import { PoolItem } from '#features/pools/pools.dto';
import { PositionItem } from '#extensions/positions/positions.dto';
import { Profile } from '#features/auth/users.dto';
import { LIMITS, type StartList } from './start.sql';

interface FirstPage<T> {
  data: T[];
  pagination: Pagination;
}

function firstPageOf<T>(item: Type<T>): Type<FirstPage<T>> {
  class OfItems implements FirstPage<T> {
    @ApiProperty({ type: [item] }) data: T[];
    @ApiProperty({ type: Pagination }) pagination: Pagination;
  }
  Object.defineProperty(OfItems, 'name', { value: `FirstPageOf${item.name}` });
  return OfItems;
}

const list = (name: StartList, path: string, item: Type): ApiPropertyOptions => ({
  type: firstPageOf(item),
  description: `As \`GET ${path}?limit=${LIMITS[name]}\``,
});

export class StartPage {
  @ApiProperty({ type: Profile, description: 'As `GET /users/me`' }) user: Profile;
  @ApiProperty({ type: UserAnalytics, description: 'As `GET /analytics/user`' }) analytics: UserAnalytics;
  @ApiProperty(list('pools', '/pools', PoolItem)) pools: FirstPage<PoolItem>;
  @ApiProperty(list('positions', '/users/me/positions', PositionItem)) positions: FirstPage<PositionItem>;
  @ApiProperty(list('transactions', '/transactions', TransactionItem))
  transactions: FirstPage<TransactionItem>;
  @ApiProperty({
    type: CurrentDraw,
    nullable: true,
    description: 'As `GET /lottery/current`; null if no draw is open',
  })
  draw: CurrentDraw | null;
  @ApiProperty(list('entries', '/lottery/me', DrawEntry)) entries: FirstPage<DrawEntry>;
  @ApiProperty(list('winners', '/lottery/winners', Winner)) winners: FirstPage<Winner>;
  @ApiProperty({
    type: [String],
    example: [],
    description:
      'Contracts not known to have the first token: their amounts are in `analytics.otherTokens`, or in no sum',
  })
  otherContracts: string[];
  @ApiProperty({
    description: '`Last-Event-ID` with which `GET /events` continues after this response',
    example: '0000000003e9-000000000011-0001',
  })
  cursor: string;
}
