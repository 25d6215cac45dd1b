import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { JsonText } from '#platform/answers/json-text';
import { type Page, PageQuery } from '#platform/answers/pagination';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { PositionItem } from './positions.dto';
import { PositionsService } from './positions.service';

@Controller()
@ApiTags('Positions')
export class PositionsController {
  constructor(private readonly positions: PositionsService) {}

  @Get('pools/:id/position')
  @ApiData(PositionItem, {
    summary: "Get the caller's position in a pool",
    description:
      'Returns deposits, withdrawals, balance and yield of the caller in a pool, exactly as the contract has them at `blockNumber`. Announced deposits do not count. For members, and everyone who ever paid in.',
    errors: [401, 403, 404],
  })
  inPool(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<JsonText<PositionItem>> {
    return this.positions.inPool(user, id);
  }

  @Get('users/me/positions')
  @ApiData(PositionItem, {
    summary: "List the caller's positions",
    description: 'Returns the position in every pool that the caller ever paid into, newest pool first.',
    list: true,
    errors: [400, 401],
  })
  list(@CurrentUser() user: AuthenticatedUser, @Query() query: PageQuery): Promise<Page<PositionItem>> {
    return this.positions.list(user, query);
  }
}
