import { Controller, Get } from '@nestjs/common';
import { Throttle } from '@nestjs/throttler';
import { AuthenticatedUser, CurrentUser, type Session } from '#features/sessions/current-user';
import type { JsonText } from '#platform/http/json-text';
import { ApiData } from '#platform/openapi/api-docs';
import { MeResponse, Profile } from './users.dto';
import { UsersService } from './users.service';

/** Tells callers what the service knows about them. Not part of auth, because it reads data of other features. */
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

  @Get('users/me')
  @ApiData(Profile, {
    summary: 'Who the caller is, and how long',
    description:
      'As `/auth/me`, and when the token ends. It does not count toward the limit of `/auth`, so a page may ask whenever it loads.',
    errors: [401],
  })
  profile(@CurrentUser() session: Session): Promise<JsonText<Profile>> {
    return this.users.profile(session);
  }
}
