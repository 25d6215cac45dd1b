import { Controller, Get } from '@nestjs/common';
import { Throttle } from '@nestjs/throttler';
import { AuthenticatedUser, CurrentUser } from '../auth/current-user';
import type { JsonText } from '../common/json-text';
import { ApiData } from '../openapi/api-docs';
import { MeResponse } from './users.dto';
import { UsersService } from './users.service';

/** What the service knows about the caller. It is not part of auth, because it reads data of other features. */
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
