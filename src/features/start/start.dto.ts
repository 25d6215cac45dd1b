import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Pagination } from '#platform/answers/pagination';
import { Profile } from '#features/users/users.dto';
import { LIMITS, type StartList } from './start.sql';

/** The schemas of other parts, by name: what is here is what they say. */
const ref = (schema: string): { $ref: string } => ({ $ref: `#/components/schemas/${schema}` });

class FirstPage {
  @ApiProperty({ type: Pagination }) pagination: Pagination;
}

/** The class of a first page with items of a schema. */
function firstPageOf(schema: string): new () => FirstPage {
  class OfItems extends FirstPage {
    @ApiProperty({ type: 'array', items: ref(schema) }) data: unknown[];
  }
  Object.defineProperty(OfItems, 'name', { value: `FirstPageOf${schema}` });
  return OfItems;
}

const list = (name: StartList, path: string, schema: string): ApiPropertyOptions => ({
  type: firstPageOf(schema),
  description: `As \`GET ${path}?limit=${LIMITS[name]}\``,
});

export class StartPage {
  @ApiProperty({ type: Profile, description: 'As `GET /users/me`' }) user: Profile;
  @ApiProperty({ allOf: [ref('UserAnalytics')], description: 'As `GET /analytics/user`' }) analytics: unknown;
  @ApiProperty(list('pools', '/pools', 'PoolItem')) pools: FirstPage;
  @ApiProperty(list('positions', '/users/me/positions', 'PositionItem')) positions: FirstPage;
  @ApiProperty(list('transactions', '/transactions', 'TransactionItem')) transactions: FirstPage;
  @ApiProperty({
    allOf: [ref('CurrentDraw')],
    nullable: true,
    description: 'As `GET /lottery/current`; null if no draw is open',
  })
  draw: unknown;
  @ApiProperty(list('entries', '/lottery/me', 'DrawEntry')) entries: FirstPage;
  @ApiProperty(list('winners', '/lottery/winners', 'Winner')) winners: FirstPage;
  @ApiProperty({
    description:
      'A `Last-Event-ID`: `GET /events` with it goes on with exactly what this answer does not contain. It may be longer than the id of an event',
    example: '0000000003e9-000000000011-0001',
  })
  cursor: string;
}
