import { Injectable } from '@nestjs/common';
import { notFound } from '../common/errors';
import { JsonText } from '../common/json-text';
import { Page } from '../common/pagination';
import { Database } from '../database/database';
import type { CurrentDraw, ListWinnersQuery, Winner } from './lottery.dto';
import { CURRENT_DRAW, LIST_WINNERS } from './lottery.sql';

@Injectable()
export class LotteryService {
  constructor(private readonly database: Database) {}

  /** @throws ApiError 404 if no contract has an open draw */
  async current(): Promise<JsonText<CurrentDraw>> {
    const row = await this.database.read(CURRENT_DRAW, {});
    if (!row) throw notFound('no_open_draw');
    return new JsonText(row.data);
  }

  /** Winners of the completed draws, newest first. */
  async winners(query: ListWinnersQuery): Promise<Page<Winner>> {
    const { page, limit } = query;
    const row = await this.database.read(LIST_WINNERS, { limit, offset: (page - 1) * limit });
    return new Page(new JsonText(row!.data), row!.total, query);
  }
}
