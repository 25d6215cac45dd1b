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
    summary: "Export the caller's data",
    description:
      'Returns all stored rows about the caller, in pages: repeat with `after` until `next` is null. Leaves out secrets of webhooks, and what is derived from these rows.',
    errors: [401],
  })
  export(@CurrentUser() session: Session, @Query() query: ExportQuery): Promise<CursorPage<ExportedRow>> {
    return this.people.export(session, query);
  }

  @Delete('me')
  @ApiData(DeletedAccount, {
    summary: 'Delete the account',
    description:
      'Ends all sessions and webhooks at once, and removes unpaid pools, memberships and stored answers within minutes. Pools that were paid into stay, with their transactions, by address. Needs a sign-in from the last ten minutes.',
    errors: ['invalid_json', 401, 'sign_in_again', 413, 415],
  })
  async delete(@CurrentUser() session: Session, @Req() request: FastifyRequest): Promise<DeletedAccount> {
    const deleted = await this.people.delete(session);
    request.log.info({ reqId: request.id, address: session.address }, 'account deleted');
    return deleted;
  }
}
