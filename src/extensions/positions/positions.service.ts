import { Injectable } from '@nestjs/common';
import { JsonText } from '#platform/answers/json-text';
import { Page, type PageQuery } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { knownForm, readable } from '#platform/errors/readable';
import type { AuthenticatedUser } from '#features/access/current-user';
import type { PositionItem } from './positions.dto';
import { LIST_POSITIONS, POOL_POSITION } from './positions.sql';

/** What the caller holds, as the contracts count it. */
@Injectable()
export class PositionsService {
  constructor(private readonly database: Database) {}

  /**
   * All zeros for a member who never paid in.
   * @throws ApiError 404 for an unknown pool, 403 if the caller may not read the pool and never paid into it
   */
  async inPool(caller: AuthenticatedUser, id: string): Promise<JsonText<PositionItem>> {
    const pool = knownForm(id);
    const row = await this.database.read(POOL_POSITION, { pool, caller: caller.address });
    return new JsonText(readable(row).data);
  }

  /** Positions in every pool that the caller ever paid into, newest pool first. */
  async list(caller: AuthenticatedUser, query: PageQuery): Promise<Page<PositionItem>> {
    const { page, limit } = query;
    const parameters = { caller: caller.address, limit, offset: (page - 1) * limit };
    const row = await this.database.read(LIST_POSITIONS, parameters);
    return new Page(new JsonText(row!.data), row!.total, query);
  }
}
