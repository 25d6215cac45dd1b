import { Controller, Delete, Get, Query, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { type Page, pageWithCursor } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { namedError } from '#platform/errors/errors';
import { ApiData } from '#platform/openapi/api-docs';
import { CurrentUser, type Session } from '#features/access/current-user';
import { TOKEN_LIFETIME_SECONDS } from '#features/access/lifetimes';
import { Sessions } from '#features/access/sessions';
import { DELETE_ACCOUNT } from './deletions';
import { exportPage } from './export.sql';
import { DeletedAccount, EXPORT_CURSOR, ExportQuery, ExportedRow } from './people.dto';

/** The signature of the sign-in confirms what is done so soon after it. A token that somebody found is older. */
const FRESH_SECONDS = 600;

@Controller('users')
@ApiTags('Users')
export class PeopleController {
  constructor(
    private readonly database: Database,
    private readonly sessions: Sessions,
  ) {}

  @Get('me/export')
  @ApiData(ExportedRow, {
    list: 'cursors',
    summary: "Export the caller's data",
    description:
      'Returns all stored rows about the caller, in pages: repeat with `after` until `next` is null. Leaves out secrets of webhooks, and what is derived from these rows.',
    errors: [401],
  })
  async export(@CurrentUser() person: Session, @Query() query: ExportQuery): Promise<Page<ExportedRow>> {
    const from = EXPORT_CURSOR.decode(query.after);
    const { rows, next } = await exportPage(person, from, query.limit, (statement, values) =>
      this.database.readAll(statement, values),
    );
    return pageWithCursor({ data: `[${rows.join()}]`, next }, query, EXPORT_CURSOR);
  }

  @Delete('me')
  @ApiData(DeletedAccount, {
    summary: 'Delete the account',
    description:
      'Ends all sessions and webhooks at once, and removes unpaid pools, memberships and stored answers within minutes. Pools that were paid into stay, with their transactions, by address. Needs a sign-in from the last ten minutes.',
    errors: ['invalid_json', 401, 'sign_in_again', 413, 415],
  })
  async delete(@CurrentUser() session: Session, @Req() request: FastifyRequest): Promise<DeletedAccount> {
    const { address, exp } = session;
    if (exp - TOKEN_LIFETIME_SECONDS < Date.now() / 1000 - FRESH_SECONDS) throw namedError('sign_in_again');
    const { stays } = (await this.database.write(DELETE_ACCOUNT, { address }))!;
    this.sessions.ended(session);
    request.log.info({ reqId: request.id, address }, 'account deleted');
    return { address, stays };
  }
}
