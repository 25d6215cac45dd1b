import { TYPE_WITH_DRAWS } from '#values/types';
import { type CursorPageRow, cursorPage } from '#platform/answers/cursor';
import { statement } from '#platform/postgres/statement';
import { LAST_BLOCK, contractsOf } from '#ledger/chain/chain.sql';

/** Writes a ticket count twice: as a JSON number that every client can represent, and as an exact string. */
const tickets = (name: string, column: string): string =>
  `'${name}', least(${column}, ${Number.MAX_SAFE_INTEGER}), '${name}Exact', ${column}::text`;

/** The contract's GRACE. */
const GRACE = `interval '7 days'`;

/**
 * SQL: the call that anyone may send now to move draw `d` on: `complete`, `cancel`, or null. As the contract judges it in
 * the block after `last`, the last one that was read.
 */
export const DUE_TO_MOVE_ON = `CASE
    WHEN d.status = 'DRAWING' AND last.number >= d.pick_block THEN 'complete'
    WHEN d.status = 'ACTIVE' AND last.time >= d.draw_time + ${GRACE} THEN 'cancel' END`;

/** SQL: what the contract's refundableOf tells for the account of `t`, a row of lottery_tickets, in draw `d`. */
export const REFUNDABLE = `CASE d.status WHEN 'CANCELLED' THEN greatest(t.paid_in - t.refunded, 0) ELSE 0 END`;

/**
 * SQL: the newest open draw of the newest lottery contract that has one. Contracts are in the order of
 * POOL_CONTRACTS. Returns one row of lottery_draws, or none.
 */
export const OPEN_DRAW = `(
    SELECT d.* FROM ${contractsOf(TYPE_WITH_DRAWS)} c CROSS JOIN LATERAL (
      SELECT * FROM lottery_draws WHERE contract = c.address AND status IN ('ACTIVE', 'DRAWING')
      ORDER BY draw_id DESC LIMIT 1
    ) d
    ORDER BY c.position DESC LIMIT 1)`;

export const CURRENT_DRAW = statement<object, { data: string }>(
  'current_draw',
  {},
  `
    SELECT json_build_object('drawId', d.draw_id, 'contract', d.contract, 'prizePool', d.prize_pool::text,
      'ticketPrice', d.ticket_price::text, 'participants', d.participants, ${tickets('totalTickets', 'd.total_tickets')},
      'drawTime', iso(d.draw_time), 'status', d.status, 'due', ${DUE_TO_MOVE_ON})::text AS data
    FROM ${OPEN_DRAW} d LEFT JOIN ${LAST_BLOCK} last ON true`,
  { onStandby: true },
);

const WINNER = `json_build_object('drawId', d.draw_id, 'contract', d.contract, 'winner', d.winner,
  'prize', d.prize::text, ${tickets('tickets', 'd.winner_tickets')}, ${tickets('totalTickets', 'd.total_tickets')},
  'drawnAt', iso(d.drawn_at))`;

/** What WINNER_CURSOR encodes: a position in the list of winners. */
const WINNER_POSITION = `floor(extract(epoch FROM d.drawn_at) * 1000) || ' ' || d.draw_id || ' ' || d.contract`;

/** Winners of all contracts, newest first. The last three parameters are a position of WINNER_CURSOR, or null. */
export const LIST_WINNERS = statement<
  { limit: number; offset: number; drawnAtMs: number | null; drawId: number | null; contract: string | null },
  CursorPageRow
>(
  'list_winners',
  { limit: 'integer', offset: 'bigint', drawnAtMs: 'float8', drawId: 'bigint', contract: 'text' },
  `
    SELECT CASE WHEN :contract IS NULL THEN (SELECT winners::int FROM lottery_totals) END AS total,
      ${cursorPage(WINNER, WINNER_POSITION)}
    FROM (
      SELECT *, row_number() OVER () AS n FROM (
        SELECT * FROM lottery_draws
        WHERE status = 'COMPLETED'
          AND (drawn_at, draw_id, contract)
            < (coalesce(to_timestamp(:drawnAtMs / 1000), 'infinity'), coalesce(:drawId, 0), coalesce(:contract, ''))
        ORDER BY drawn_at DESC, draw_id DESC, contract DESC LIMIT :limit + 1 OFFSET :offset
      ) found
    ) d`,
  { onStandby: true },
);

/**
 * Draws into which the caller paid, for tickets or as a gift: newest contract first, then newest draw first. Reads no
 * more rows of a contract than the page can show.
 */
export const LIST_TICKETS = statement<
  { caller: string; limit: number; offset: number },
  { total: number; data: string }
>(
  'list_tickets',
  { caller: 'text', limit: 'bigint', offset: 'bigint' },
  `
    SELECT (SELECT count(*)::int FROM lottery_tickets WHERE account = :caller) AS total,
      coalesce(json_agg(json_build_object('drawId', d.draw_id, 'contract', d.contract, ${tickets('tickets', 't.tickets')},
        ${tickets('totalTickets', 'd.total_tickets')}, 'ticketPrice', d.ticket_price::text,
        'spent', (t.tickets * d.ticket_price)::text, 'status', d.status, 'drawTime', iso(d.draw_time),
        'gifts', greatest(t.paid_in - t.tickets * d.ticket_price, 0)::text,
        'won', coalesce(d.winner = :caller, false), 'prize', d.prize::text, 'paid', d.paid,
        'refundable', ${REFUNDABLE}::text,
        'due', CASE WHEN d.status = 'COMPLETED' AND d.winner = :caller AND NOT d.paid THEN 'claim'
          WHEN ${REFUNDABLE} > 0 THEN 'refund' ELSE ${DUE_TO_MOVE_ON} END)
        ORDER BY t.position DESC, t.draw_id DESC), '[]')::text AS data
    FROM (
      SELECT c.position, held.*
      FROM ${contractsOf(TYPE_WITH_DRAWS)} c CROSS JOIN LATERAL (
        SELECT contract, draw_id, tickets, paid_in, refunded FROM lottery_tickets
        WHERE account = :caller AND contract = c.address
        ORDER BY draw_id DESC LIMIT :limit + :offset
      ) held
      ORDER BY c.position DESC, held.draw_id DESC LIMIT :limit OFFSET :offset
    ) t JOIN lottery_draws d ON d.contract = t.contract AND d.draw_id = t.draw_id
    LEFT JOIN ${LAST_BLOCK} last ON true`,
  { onStandby: true, chargedTo: 'caller' },
);
