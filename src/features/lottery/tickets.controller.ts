import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { JsonText } from '#platform/answers/json-text';
import { Page, PageQuery } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { LIST_TICKETS } from './lottery.sql';
import { DrawEntry } from './tickets.dto';

/** Separate from the lottery's other endpoints, which settings open to callers without a token. */
@Controller('lottery/me')
@ApiTags('Lottery')
export class TicketsController {
  constructor(private readonly database: Database) {}

  @Get()
  @ApiData(DrawEntry, {
    summary: 'List draws of the caller',
    description:
      'Returns the draws into which the caller paid, for tickets or as a gift, with their outcome and what the caller can take out. Draws of the newest lottery contract come first, the newest first.',
    list: true,
    errors: [400, 401],
  })
  async list(
    @CurrentUser() { address: caller }: AuthenticatedUser,
    @Query() query: PageQuery,
  ): Promise<Page<DrawEntry>> {
    const { page, limit } = query;
    const { data, total } = (await this.database.read(LIST_TICKETS, {
      caller,
      limit,
      offset: (page - 1) * limit,
    }))!;
    return new Page(new JsonText(data), total, query);
  }
}
