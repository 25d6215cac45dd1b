import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { JsonText } from '#platform/answers/json-text';
import { Page, PageQuery } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { knownForm, readable } from '#platform/errors/readable';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { PositionItem } from './positions.dto';
import { LIST_POSITIONS, POOL_POSITION } from './positions.sql';

@Controller()
@ApiTags('Positions')
export class PositionsController {
  constructor(private readonly database: Database) {}

  @Get('pools/:id/position')
  @ApiData(PositionItem, {
    summary: "Get the caller's position in a pool",
    description:
      'Returns deposits, withdrawals, balance and yield of the caller in a pool, exactly as the contract has them at `blockNumber`. Announced deposits do not count. For members, and everyone who ever paid in.',
    errors: [401, 403, 404],
  })
  async inPool(
    @CurrentUser() { address: caller }: AuthenticatedUser,
    @Param('id') id: string,
  ): Promise<JsonText<PositionItem>> {
    return new JsonText(
      readable(await this.database.read(POOL_POSITION, { pool: knownForm(id), caller })).data,
    );
  }

  @Get('users/me/positions')
  @ApiData(PositionItem, {
    summary: "List the caller's positions",
    description: 'Returns the position in every pool that the caller ever paid into, newest pool first.',
    list: true,
    errors: [400, 401],
  })
  async list(
    @CurrentUser() { address: caller }: AuthenticatedUser,
    @Query() query: PageQuery,
  ): Promise<Page<PositionItem>> {
    const { page, limit } = query;
    const row = await this.database.read(LIST_POSITIONS, { caller, limit, offset: (page - 1) * limit });
    return new Page(new JsonText(row!.data), row!.total, query);
  }
}
