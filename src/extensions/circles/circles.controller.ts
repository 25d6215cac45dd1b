import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { JsonText } from '#platform/answers/json-text';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { PoolRounds } from './circles.dto';
import { CirclesService } from './circles.service';

@Controller('pools')
@ApiTags('Circles')
export class CirclesController {
  constructor(private readonly circles: CirclesService) {}

  @Get(':id/rounds')
  @ApiData(PoolRounds, {
    summary: 'The savings circle of a pool',
    description:
      "Terms, members and rounds of the circle of a rotating pool, the caller's place in it, and what the caller can do now. For who may read the pool, and for the members that the circle names.",
    errors: [401, 403, 404, 'no_circle'],
  })
  rounds(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<JsonText<PoolRounds>> {
    return this.circles.rounds(user, id);
  }
}
