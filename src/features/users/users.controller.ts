import { Controller, Get } from '@nestjs/common';
import type { JsonText } from '#platform/answers/json-text';
import { ApiData } from '#platform/openapi/api-docs';
import { CurrentUser, type Session } from '#features/access/current-user';
import { Profile } from './users.dto';
import { UsersService } from './users.service';

@Controller('users')
export class UsersController {
  constructor(private readonly users: UsersService) {}

  @Get('me')
  @ApiData(Profile, {
    summary: 'Get the current user and session',
    description:
      'As `/auth/me`, with the expiry of the token and the chain that was signed in with. Does not count toward the limit of `/auth`, so pages can request it at each load.',
    errors: [401],
  })
  profile(@CurrentUser() session: Session): Promise<JsonText<Profile>> {
    return this.users.profile(session);
  }
}
