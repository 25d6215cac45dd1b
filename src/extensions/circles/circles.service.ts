import { Injectable } from '@nestjs/common';
import { JsonText } from '#platform/answers/json-text';
import { Database } from '#platform/database/database';
import { namedError, notFound } from '#platform/errors/errors';
import { knownForm, readable } from '#platform/errors/readable';
import type { AuthenticatedUser } from '#features/access/current-user';
import type { PoolRounds } from './circles.dto';
import { POOL_ROUNDS } from './circles.sql';

@Injectable()
export class CirclesService {
  constructor(private readonly database: Database) {}

  /**
   * The circle of a pool, and what the caller is and can do in it.
   * @throws ApiError 404 for an unknown pool and one of a type without circles; 403 if the caller may not read it, and
   * is no member of its circle
   */
  async rounds(caller: AuthenticatedUser, id: string): Promise<JsonText<PoolRounds>> {
    const row = await this.database.read(POOL_ROUNDS, { pool: knownForm(id), caller: caller.address });
    if (!row) throw notFound();
    const { data } = readable(row);
    if (!row.hasCircles) throw namedError('no_circle');
    return new JsonText(data);
  }
}
