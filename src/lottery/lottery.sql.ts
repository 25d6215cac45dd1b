import { contractsOf } from '../chain/chain.sql';
import { statement } from '../database/statement';

/** A ticket count twice: as a JSON number that every client can represent, and as an exact string. */
const tickets = (name: string, column: string): string =>
  `'${name}', least(d.${column}, ${Number.MAX_SAFE_INTEGER}), '${name}Exact', d.${column}::text`;

/**
 * SQL: the newest open draw of the newest lottery contract that has one; contracts are in the order of POOL_CONTRACTS.
 * One row of lottery_draws, or none.
 */
export const OPEN_DRAW = `(
    SELECT d.* FROM ${contractsOf('lottery')} c CROSS JOIN LATERAL (
      SELECT * FROM lottery_draws WHERE contract = c.address AND status IN ('ACTIVE', 'DRAWING')
      ORDER BY draw_id DESC LIMIT 1
    ) d
    ORDER BY c.position DESC LIMIT 1)`;

export const CURRENT_DRAW = statement<object, { data: string }>(
  'current_draw',
  {},
  `
    SELECT json_build_object('drawId', d.draw_id, 'contract', d.contract, 'prizePool', d.prize_pool::text,
      'participants', d.participants, ${tickets('totalTickets', 'total_tickets')},
      'drawTime', iso(d.draw_time), 'status', d.status)::text AS data
    FROM ${OPEN_DRAW} d`,
);

/** Winners of all contracts, newest first. */
export const LIST_WINNERS = statement<{ limit: number; offset: number }, { total: number; data: string }>(
  'list_winners',
  { limit: 'bigint', offset: 'bigint' },
  `
    SELECT (SELECT winners::int FROM lottery_totals) AS total,
      coalesce(json_agg(json_build_object('drawId', d.draw_id, 'contract', d.contract, 'winner', d.winner,
        'prize', d.prize::text, ${tickets('tickets', 'winner_tickets')}, ${tickets('totalTickets', 'total_tickets')},
        'drawnAt', iso(d.drawn_at))), '[]')::text AS data
    FROM (
      SELECT * FROM lottery_draws WHERE status = 'COMPLETED'
      ORDER BY drawn_at DESC, draw_id DESC, contract DESC LIMIT :limit OFFSET :offset
    ) d`,
);
