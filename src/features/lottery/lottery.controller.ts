import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { JsonText } from '#platform/answers/json-text';
import { CursorPage, Page, PageQuery, pageWithCursor } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { namedError } from '#platform/errors/errors';
import { ApiData } from '#platform/openapi/api-docs';
import { Public } from '#features/access/auth.guard';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { CurrentDraw, DrawEntry, ListWinnersQuery, WINNER_CURSOR, Winner } from './lottery.dto';
import { CURRENT_DRAW, LIST_TICKETS, LIST_WINNERS, LIST_WINNERS_AFTER } from './lottery.sql';

@Controller('lottery')
@Public('LOTTERY_PUBLIC', 'PUBLIC_STATISTICS')
export class LotteryController {
  constructor(private readonly database: Database) {}

  @Get('current')
  @ApiData(CurrentDraw, {
    summary: 'Get the open lottery draw',
    description:
      'Returns prize, tickets and time of the open draw. The operator can open the lottery to requests without a token.',
    errors: [401, 'no_open_draw'],
  })
  async current(): Promise<JsonText<CurrentDraw>> {
    const row = await this.database.read(CURRENT_DRAW, {});
    if (!row) throw namedError('no_open_draw');
    return new JsonText(row.data);
  }

  @Get('winners')
  @ApiData(Winner, {
    summary: 'List past winners',
    description:
      'Returns the winners of completed draws, newest first. With `after` the response has no `pagination`, and `page` is refused.',
    list: 'cursors',
    errors: [400, 401],
  })
  async winners(@Query() query: ListWinnersQuery): Promise<Page<Winner> | CursorPage<Winner>> {
    const { page = 1, limit, after } = query;
    if (after === undefined) {
      const row = await this.database.read(LIST_WINNERS, { limit, offset: (page - 1) * limit });
      return pageWithCursor(row!, query, WINNER_CURSOR);
    }
    const [drawnAtMs, drawId, contract] = WINNER_CURSOR.decode(after)!.split(' ');
    const values = { limit, drawnAtMs: Number(drawnAtMs), drawId: Number(drawId), contract };
    return new CursorPage((await this.database.read(LIST_WINNERS_AFTER, values))!, WINNER_CURSOR);
  }
}

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
    const values = { caller, limit, offset: (page - 1) * limit };
    const { data, total } = (await this.database.read(LIST_TICKETS, values))!;
    return new Page(new JsonText(data), total, query);
  }
}
