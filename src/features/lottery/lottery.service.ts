import { Injectable } from '@nestjs/common';
import { JsonText } from '#platform/answers/json-text';
import { Page, type PageQuery, pageWithCursor } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { namedError } from '#platform/errors/errors';
import {
  type CurrentDraw,
  type DrawEntry,
  type ListWinnersQuery,
  WINNER_CURSOR,
  type Winner,
} from './lottery.dto';
import { CURRENT_DRAW, LIST_TICKETS, LIST_WINNERS } from './lottery.sql';

@Injectable()
export class LotteryService {
  constructor(private readonly database: Database) {}

  async current(): Promise<JsonText<CurrentDraw>> {
    const row = await this.database.read(CURRENT_DRAW, {});
    if (!row) throw namedError('no_open_draw');
    return new JsonText(row.data);
  }

  async winners(query: ListWinnersQuery): Promise<Page<Winner>> {
    const { page = 1, limit, after } = query;
    const position = WINNER_CURSOR.decode(after)?.split(' ') ?? [];
    const [drawnAtMs = null, drawId = null] = position.map(Number);
    const values = { limit, offset: (page - 1) * limit, drawnAtMs, drawId, contract: position[2] ?? null };
    return pageWithCursor((await this.database.read(LIST_WINNERS, values))!, query, WINNER_CURSOR);
  }

  async tickets(caller: string, query: PageQuery): Promise<Page<DrawEntry>> {
    const { page, limit } = query;
    const values = { caller, limit, offset: (page - 1) * limit };
    const { data, total } = (await this.database.read(LIST_TICKETS, values))!;
    return new Page(new JsonText(data), total, query);
  }
}
