import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { JsonText } from '#platform/answers/json-text';
import { Page } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { invalidToken } from '#platform/errors/errors';
import { ApiData } from '#platform/openapi/api-docs';
import { cursorText } from '#ledger/outbox/ledger-event';
import { CurrentUser, type Session } from '#features/access/current-user';
import { tokenOf } from '#features/auth/users.sql';
import { StartPage } from './start.dto';
import { LIMITS, LIST_NAMES, START, type StartRow } from './start.sql';

@Controller('users/me/start')
@ApiTags('Users')
export class StartController {
  constructor(private readonly database: Database) {}

  @Get()
  @ApiData(StartPage, {
    summary: 'Get start page data',
    description:
      'Returns the data of several endpoints at one moment, in one request. With `cursor` as `Last-Event-ID` the event stream continues from that moment.',
    errors: [401],
  })
  async read(@CurrentUser() session: Session): Promise<JsonText<StartPage>> {
    const { userId: user, address: caller } = session;
    const row = await this.database.read(START, { user, caller, ...tokenOf(session) });
    if (!row) throw invalidToken('token_revoked');
    const { xid, position, item, otherContracts } = row;
    const cursor = cursorText({ xid, position: Number(position), item });
    const parts = {
      user: row.user,
      analytics: row.analytics,
      draw: row.draw ?? 'null',
      ...Object.fromEntries(LIST_NAMES.map((name) => [name, firstPage(row, name)])),
      otherContracts: JSON.stringify(otherContracts),
      cursor: JSON.stringify(cursor),
    };
    return new JsonText(
      `{${Object.entries(parts)
        .map(([name, text]) => `"${name}":${text}`)
        .join()}}`,
    );
  }
}

function firstPage(row: StartRow, name: (typeof LIST_NAMES)[number]): string {
  const items = new JsonText<unknown[]>(row[name]);
  const { pagination } = new Page(items, row[`${name}Total`], { limit: LIMITS[name] });
  return `{"data":${items.text},"pagination":${JSON.stringify(pagination)}}`;
}
