import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { JsonText } from '#platform/answers/json-text';
import { type Page, PageQuery } from '#platform/answers/pagination';
import { ApiData } from '#platform/openapi/api-docs';
import { Public } from '#features/access/auth.guard';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { CurrentDraw, DrawEntry, ListWinnersQuery, Winner } from './lottery.dto';
import { LotteryService } from './lottery.service';

@Controller('lottery')
@Public('LOTTERY_PUBLIC', 'PUBLIC_STATISTICS')
export class LotteryController {
  constructor(private readonly lottery: LotteryService) {}

  @Get('current')
  @ApiData(CurrentDraw, {
    summary: 'Get the open lottery draw',
    description:
      'Returns prize, tickets and time of the open draw. The operator can open the lottery to requests without a token.',
    errors: [401, 'no_open_draw'],
  })
  current(): Promise<JsonText<CurrentDraw>> {
    return this.lottery.current();
  }

  @Get('winners')
  @ApiData(Winner, {
    summary: 'List past winners',
    description:
      'Returns the winners of completed draws, newest first. With `after` the response has no `pagination`, and `page` is refused.',
    list: 'cursors',
    errors: [400, 401],
  })
  winners(@Query() query: ListWinnersQuery): Promise<Page<Winner>> {
    return this.lottery.winners(query);
  }
}

/** Separate from the lottery's other endpoints, which settings open to callers without a token. */
@Controller('lottery/me')
@ApiTags('Lottery')
export class TicketsController {
  constructor(private readonly lottery: LotteryService) {}

  @Get()
  @ApiData(DrawEntry, {
    summary: 'List draws of the caller',
    description:
      'Returns the draws into which the caller paid, for tickets or as a gift, with their outcome and what the caller can take out. Draws of the newest lottery contract come first, the newest first.',
    list: true,
    errors: [400, 401],
  })
  list(@CurrentUser() { address }: AuthenticatedUser, @Query() query: PageQuery): Promise<Page<DrawEntry>> {
    return this.lottery.tickets(address, query);
  }
}
