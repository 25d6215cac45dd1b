import { Injectable } from '@nestjs/common';
import { JsonText } from '#platform/answers/json-text';
import { Page } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import type { AuthenticatedUser } from '#features/access/current-user';
import { LIST_TICKETS } from './lottery.sql';
import type { DrawEntry, ListTicketsQuery } from './tickets.dto';

/** The caller's lottery tickets. */
@Injectable()
export class TicketsService {
  constructor(private readonly database: Database) {}

  async list(caller: AuthenticatedUser, query: ListTicketsQuery): Promise<Page<DrawEntry>> {
    const { page, limit } = query;
    const parameters = { caller: caller.address, limit, offset: (page - 1) * limit };
    const row = await this.database.read(LIST_TICKETS, parameters);
    return new Page(new JsonText(row!.data), row!.total, query);
  }
}
