import { Controller, Delete, Get, Query, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { CursorPage } from '#platform/answers/pagination';
import { ApiData } from '#platform/openapi/api-docs';
import { CurrentUser, type Session } from '#features/access/current-user';
import { DeletedAccount, ExportQuery, ExportedRow } from './people.dto';
import { PeopleService } from './people.service';

/** What people may ask about their own data. */
@Controller('users')
@ApiTags('Users')
export class PeopleController {
  constructor(private readonly people: PeopleService) {}

  @Get('me/export')
  @ApiData(ExportedRow, {
    list: 'cursors',
    summary: 'Everything that is kept of the caller',
    description:
      'In pages: ask again with `after` until `next` is null. Rows are as they are stored when they are read. Secrets of webhooks are left out, and what is derived from the rows here.',
    errors: [401],
  })
  export(@CurrentUser() session: Session, @Query() query: ExportQuery): Promise<CursorPage<ExportedRow>> {
    return this.people.export(session, query);
  }

  @Delete('me')
  @ApiData(DeletedAccount, {
    summary: 'Delete the account',
    description:
      'Ends all sessions and webhooks at once. Pools that were never paid into are cancelled, memberships in pools that the caller never paid into end, and stored answers go, within minutes. What the chain says stays: pools that were paid into, their transactions, positions and tickets, by the address. Other members keep reading these pools. Who signs in with the same wallet later begins anew, and finds what stayed. It takes a sign-in that is less than ten minutes old: otherwise 403 `sign_in_again`.',
    errors: ['invalid_json', 401, 'sign_in_again', 413, 415],
  })
  async delete(@CurrentUser() session: Session, @Req() request: FastifyRequest): Promise<DeletedAccount> {
    const deleted = await this.people.delete(session);
    request.log.info({ reqId: request.id, address: session.address }, 'account deleted');
    return deleted;
  }
}
