import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { JsonText } from '#platform/answers/json-text';
import { ApiData } from '#platform/openapi/api-docs';
import { CurrentUser, type Session } from '#features/access/current-user';
import { StartPage } from './start.dto';
import { StartService } from './start.service';

@Controller('users/me/start')
@ApiTags('Users')
export class StartController {
  constructor(private readonly start: StartService) {}

  @Get()
  @ApiData(StartPage, {
    summary: 'All that a start page shows',
    description:
      'What the endpoints named below tell the caller, of one moment, in one request. With `cursor` as `Last-Event-ID` the stream goes on from that moment: what happened since comes once, and nothing that is in here comes again. The one exception: while a transaction of the database takes so long that more than 200 others end before it, what the later ones of these tell may be in both; an event that was applied already is known by its `transactionId`, or its `txHash` and `topic`.',
    errors: [401],
  })
  read(@CurrentUser() session: Session): Promise<JsonText<StartPage>> {
    return this.start.read(session);
  }
}
