import { Injectable } from '@nestjs/common';
import type { AuthenticatedUser } from '../auth/current-user';
import { invalidToken } from '../common/errors';
import { JsonText } from '../common/json-text';
import { Database } from '../database/database';
import type { MeResponse } from './users.dto';
import { ME } from './users.sql';

@Injectable()
export class UsersService {
  constructor(private readonly database: Database) {}

  /** @throws ApiError 401 if the user no longer exists */
  async me({ userId }: AuthenticatedUser): Promise<JsonText<MeResponse>> {
    const row = await this.database.read(ME, { user: userId });
    if (!row) throw invalidToken('token_revoked');
    return new JsonText(row.data);
  }
}
