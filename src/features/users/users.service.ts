import { Injectable } from '@nestjs/common';
import { JsonText } from '#platform/answers/json-text';
import { Database } from '#platform/database/database';
import { invalidToken } from '#platform/errors/errors';
import type { AuthenticatedUser, Session } from '#features/access/current-user';
import type { MeResponse, Profile } from './users.dto';
import { ME, PROFILE } from './users.sql';

/** When a token expires, by its claim `exp`. */
export const expiryOf = (exp: number): string => new Date(exp * 1000).toISOString();

@Injectable()
export class UsersService {
  constructor(private readonly database: Database) {}

  /** @throws ApiError 401 if the user no longer exists */
  async me({ userId }: AuthenticatedUser): Promise<JsonText<MeResponse>> {
    const row = await this.database.read(ME, { user: userId });
    if (!row) throw invalidToken('token_revoked');
    return new JsonText(row.data);
  }

  /** Like `me`, plus when the token expires unless its session ends earlier, and for which chain it is. @throws as `me` */
  async profile({ userId, exp, chainId }: Session): Promise<JsonText<Profile>> {
    const token = { expiresAt: expiryOf(exp), chainId: chainId ?? null };
    const row = await this.database.read(PROFILE, { user: userId, ...token });
    if (!row) throw invalidToken('token_revoked');
    return new JsonText(row.data);
  }
}
