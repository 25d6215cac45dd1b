import { Controller, Get } from '@nestjs/common';
import { Throttle } from '@nestjs/throttler';
import { AuthenticatedUser, CurrentUser } from '../auth/current-user';
import type { JsonText } from '../common/json-text';
import { ApiData } from '../openapi/api-docs';
import { MeResponse } from './users.dto';
import { UsersService } from './users.service';

/** What the service knows of the caller. Not in auth, as it reads what other features hold. */
@Controller()
export class UsersController {
  constructor(private readonly users: UsersService) {}

  @Get('auth/me')
  @Throttle({ auth: {} })
  @ApiData(MeResponse, {
    summary: 'Who the caller is',
    description: 'The user of the token, and what he owns. Counts toward the limit of `/auth`.',
    errors: [401],
  })
  me(@CurrentUser() user: AuthenticatedUser): Promise<JsonText<MeResponse>> {
    return this.users.me(user);
  }
}
