import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Page } from '#platform/answers/pagination';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { DrawEntry, ListTicketsQuery } from './tickets.dto';
import { TicketsService } from './tickets.service';

/** Separate from the lottery's other endpoints, which settings open to callers without a token. */
@Controller('lottery/me')
@ApiTags('Lottery')
export class TicketsController {
  constructor(private readonly tickets: TicketsService) {}

  @Get()
  @ApiData(DrawEntry, {
    summary: 'Draws of the caller',
    description:
      'The draws into which the caller paid, for tickets or as a gift, with what came of them and what the caller may take out: those of the newest lottery contract first, of each the newest first.',
    list: true,
    errors: [400, 401],
  })
  list(@CurrentUser() user: AuthenticatedUser, @Query() query: ListTicketsQuery): Promise<Page<DrawEntry>> {
    return this.tickets.list(user, query);
  }
}
