import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { JsonText } from './json-text';

/** Query parameters are text: only plain digits become a number, so '', '1e1' and '0x10' fail validation. */
export const toInteger = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;

export class PageQuery {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: 2147483647,
    default: 1,
    description: 'Which page; beyond the last one it is empty',
  })
  @Transform(toInteger)
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2147483647)
  page: number = 1;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Items on a page',
  })
  @Transform(toInteger)
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(100)
  limit: number = 20;
}

export class Pagination {
  @ApiProperty({ type: 'integer' }) page: number;
  @ApiProperty({ type: 'integer' }) limit: number;
  @ApiProperty({ type: 'integer' }) total: number;
  @ApiProperty({ type: 'integer', description: '0 for an empty list' }) pages: number;
}

/** One page of a list of T: the items as JSON text, and the pagination. */
export class Page<T = unknown> {
  readonly pagination: Pagination;

  constructor(
    readonly items: JsonText<T[]>,
    total: number,
    { page, limit }: PageQuery,
  ) {
    this.pagination = { page, limit, total, pages: Math.ceil(total / limit) };
  }
}

/** A payload whose fields older clients expect at the top level too. */
export class LegacyEnvelope<T extends object> {
  constructor(readonly payload: T) {}
}
