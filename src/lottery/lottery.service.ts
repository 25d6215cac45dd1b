import { Injectable } from '@nestjs/common';
import { notFound } from '../common/errors';
import { JsonText } from '../common/json-text';
import { Page } from '../common/pagination';
import { Database } from '../database/database';
import { statement } from '../database/statement';
import type { CurrentDraw, ListWinnersQuery, Winner } from './lottery.dto';

export const CURRENT_DRAW = statement<object, { data: string }>(
  'current_draw',
  {},
  `
    SELECT json_build_object('drawId', draw_id, 'prizePool', prize_pool::text, 'participants', participants,
      'totalTickets', total_tickets, 'drawTime', iso(draw_time), 'status', status)::text AS data
    FROM lottery_draws WHERE status IN ('ACTIVE', 'DRAWING') ORDER BY draw_id DESC LIMIT 1`,
);

export const LIST_WINNERS = statement<{ limit: number; offset: number }, { total: number; data: string }>(
  'list_winners',
  { limit: 'bigint', offset: 'bigint' },
  `
    SELECT (SELECT count(*)::int FROM lottery_draws WHERE status = 'COMPLETED') AS total,
      coalesce(json_agg(json_build_object('drawId', draw_id, 'winner', winner, 'prize', prize::text,
        'tickets', winner_tickets, 'totalTickets', total_tickets, 'drawnAt', iso(drawn_at))), '[]')::text AS data
    FROM (
      SELECT * FROM lottery_draws WHERE status = 'COMPLETED'
      ORDER BY drawn_at DESC, draw_id DESC LIMIT :limit OFFSET :offset
    ) page`,
);

@Injectable()
export class LotteryService {
  constructor(private readonly database: Database) {}

  /** @throws ApiError 404 while no draw is open */
  async current(): Promise<JsonText<CurrentDraw>> {
    const row = await this.database.read(CURRENT_DRAW, {});
    if (!row) throw notFound();
    return new JsonText(row.data);
  }

  /** Winners of the completed draws, newest first. */
  async winners(query: ListWinnersQuery): Promise<Page<Winner>> {
    const { page, limit } = query;
    const row = await this.database.read(LIST_WINNERS, { limit, offset: (page - 1) * limit });
    return new Page(new JsonText(row!.data), row!.total, query);
  }
}
