import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { JsonText } from '#platform/answers/json-text';
import { Database } from '#platform/database/database';
import { namedError, notFound } from '#platform/errors/errors';
import { knownForm, readable } from '#platform/errors/readable';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { PoolRounds } from './circles.dto';
import { POOL_ROUNDS } from './circles.sql';

@Controller('pools')
@ApiTags('Circles')
export class CirclesController {
  constructor(private readonly database: Database) {}

  @Get(':id/rounds')
  @ApiData(PoolRounds, {
    summary: 'Get the savings circle of a pool',
    description:
      "Returns terms, members and rounds of the circle, the caller's place in it, and the calls that the caller can send now. For everyone who can read the pool, and the members of the circle.",
    errors: [401, 403, 404, 'no_circle'],
  })
  async rounds(
    @CurrentUser() { address: caller }: AuthenticatedUser,
    @Param('id') id: string,
  ): Promise<JsonText<PoolRounds>> {
    const row = await this.database.read(POOL_ROUNDS, { pool: knownForm(id), caller });
    if (!row) throw notFound();
    const { data } = readable(row);
    if (!row.hasCircles) throw namedError('no_circle');
    return new JsonText(data);
  }
}
