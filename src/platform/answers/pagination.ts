import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min, ValidateBy, type ValidationArguments } from 'class-validator';
import type { CursorCodec, CursorPageRow } from './cursor';
import { JsonText } from './json-text';

/** Query parameters are text: only plain digits become a number, so '1e1' and '0x10' fail validation. */
export const toInteger = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;

const MAX_PAGE = 2_147_483_647;

const IsCount = (standard: number, most: number, description: string): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: most, default: standard, description }),
    Transform(toInteger),
    IsOptional(),
    IsInt(),
    Min(1),
    Max(most),
  );

const IsPage = (): PropertyDecorator => IsCount(1, MAX_PAGE, 'Page number; empty past the end');

/** Query parameter: the most items that a page may have. */
export const IsLimit = (standard: number, most = 100): PropertyDecorator =>
  IsCount(standard, most, 'Items per page');

export class PageQuery {
  @IsPage()
  page: number = 1;

  @IsLimit(20)
  limit: number = 20;
}

/** Refuses `page` together with `others`: a page either has a number or begins at a cursor. */
const IsAlone = (others: readonly string[]): PropertyDecorator => {
  const given = ({ object }: ValidationArguments): string | undefined =>
    others.find((name) => (object as Record<string, unknown>)[name] !== undefined);
  return ValidateBy({
    name: 'isAlone',
    validator: {
      validate: (_, args) => given(args!) === undefined,
      defaultMessage: (args) => `cannot be given with \`${given(args!)}\``,
    },
  });
};

/** `page` of a list that also has cursors. Undefined is the first page. */
export const IsPageWithout = (...others: string[]): PropertyDecorator =>
  applyDecorators(IsPage(), IsAlone(others));

/** `after` of a list: the `next` of an earlier page. The new page begins after the last item of that page. */
export const IsAfter = (codec: CursorCodec): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({
      description:
        'What `next` of the page before was. Unlike `page` it costs the same at any depth, and nothing is passed over or repeated when items are added. The answer has no `pagination`.',
    }),
    IsOptional(),
    ValidateBy({
      name: 'isCursor',
      validator: {
        validate: (value) => codec.decode(value) !== undefined,
        defaultMessage: () => 'must be what `next` of this list was',
      },
    }),
  );

export class Pagination {
  @ApiProperty({ type: 'integer' }) page: number;
  @ApiProperty({ type: 'integer' }) limit: number;
  @ApiProperty({ type: 'integer' }) total: number;
  @ApiProperty({ type: 'integer', description: 'Number of pages; 0 for an empty list' }) pages: number;
}

/** One page of a list of T: the items as JSON text, and the pagination. */
export class Page<T = unknown> {
  readonly pagination?: Pagination;

  /**
   * @param total null for a page that begins at a cursor, for which the items of the whole list are not counted
   * @param next cursor of the next page, null on the last page; undefined for lists without cursors
   */
  constructor(
    readonly items: JsonText<T[]>,
    total: number | null,
    { page = 1, limit }: { page?: number; limit: number },
    readonly next?: string | null,
  ) {
    if (total !== null) this.pagination = { page, limit, total, pages: Math.ceil(total / limit) };
  }
}

/** A page of items that are objects, not text of the database. */
export const pageOf = <T>(items: T[], total: number, query: PageQuery): Page<T> =>
  new Page(new JsonText(JSON.stringify(items)), total, query);

/** A page of a list with cursors. */
export const pageWithCursor = <T>(
  { data, total = null, next }: CursorPageRow,
  query: { page?: number; limit: number },
  codec: CursorCodec,
): Page<T> => new Page(new JsonText(data), total, query, next === null ? null : codec.encode(next));

/** A payload whose fields older clients expect at the top level too. */
export class TopLevelCopy<T extends object> {
  constructor(readonly payload: T) {}
}
