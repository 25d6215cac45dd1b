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
    summary: 'Get start page data',
    description:
      'Returns the data of several endpoints at one moment, in one request. With `cursor` as `Last-Event-ID` the event stream continues from that moment.',
    errors: [401],
  })
  read(@CurrentUser() session: Session): Promise<JsonText<StartPage>> {
    return this.start.read(session);
  }
}
