/** Statements that maintain lottery_draws and lottery_tickets. $1 and $2 are the contracts and ids of draws. */

const WANTED = `unnest($1::text[], $2::bigint[]) AS w(contract, draw_id)`;

/** Applied events of the draws. `draw_id` is numeric in chain_events, as a contract may use any uint64. */
const EVENTS = `
  ${WANTED} JOIN chain_events e
    ON e.contract = w.contract AND e.draw_id = w.draw_id::numeric AND e.outcome = 'APPLIED'`;

export const DELETE_DRAWS = `
  DELETE FROM lottery_draws d USING ${WANTED} WHERE d.contract = w.contract AND d.draw_id = w.draw_id`;
export const DELETE_TICKETS = `
  DELETE FROM lottery_tickets t USING ${WANTED} WHERE t.contract = w.contract AND t.draw_id = w.draw_id`;
export const MAKE_TICKETS = `
  INSERT INTO lottery_tickets (contract, draw_id, account, tickets)
  SELECT w.contract, w.draw_id, e.account, sum(e.amount) FROM ${EVENTS} WHERE e.kind = 'TicketsIssued'
  GROUP BY 1, 2, 3`;

/** Creates draws that were opened. `SET_STAGES` has to follow. */
export const MAKE_DRAWS = `
  INSERT INTO lottery_draws (contract, draw_id, status, ticket_price, prize_pool, participants, total_tickets, draw_time)
  SELECT DISTINCT ON (w.contract, w.draw_id) w.contract, w.draw_id, 'ACTIVE', e.amount,
    (SELECT coalesce(sum(f.amount), 0) FROM chain_events f WHERE f.contract = w.contract
      AND f.draw_id = w.draw_id::numeric AND f.kind = 'PrizeFunded' AND f.outcome = 'APPLIED'),
    t.participants, t.tickets, e.draw_time
  FROM ${EVENTS} AND e.kind = 'DrawOpened'
  CROSS JOIN LATERAL (
    SELECT count(*) AS participants, coalesce(sum(tickets), 0) AS tickets FROM lottery_tickets
    WHERE contract = w.contract AND draw_id = w.draw_id) t
  ORDER BY w.contract, w.draw_id, e.block_number, e.log_index`;

/**
 * Adds tickets and prize funds. The cost does not depend on how many tickets a draw has already. $3 is the funds of
 * each draw; then come contract, draw id, account and tickets of each purchase.
 */
export const ADD_TO_DRAWS = `
  WITH sold AS MATERIALIZED (
    SELECT * FROM unnest($4::text[], $5::bigint[], $6::text[], $7::numeric[]) AS s(contract, draw_id, account, tickets)
  ), sums AS MATERIALIZED (
    SELECT s.contract, s.draw_id, sum(s.tickets) AS tickets, count(*) FILTER (WHERE t.account IS NULL) AS participants
    FROM sold s LEFT JOIN lottery_tickets t USING (contract, draw_id, account) GROUP BY 1, 2
  ), held AS (
    INSERT INTO lottery_tickets AS t (contract, draw_id, account, tickets)
    SELECT contract, draw_id, account, tickets FROM sold
    ON CONFLICT ON CONSTRAINT lottery_tickets_pkey DO UPDATE SET tickets = t.tickets + excluded.tickets
  )
  UPDATE lottery_draws d SET
    prize_pool = d.prize_pool + w.funded,
    total_tickets = d.total_tickets + coalesce(s.tickets, 0),
    participants = d.participants + coalesce(s.participants, 0)
  FROM unnest($1::text[], $2::bigint[], $3::numeric[]) AS w(contract, draw_id, funded)
  LEFT JOIN sums s USING (contract, draw_id)
  WHERE d.contract = w.contract AND d.draw_id = w.draw_id`;

/** Sets status and winner from the few events of a draw that change them. */
export const SET_STAGES = `
  UPDATE lottery_draws d SET
    status = CASE WHEN c.account IS NOT NULL THEN 'COMPLETED' WHEN s.cancelled THEN 'CANCELLED'
      WHEN s.closed THEN 'DRAWING' ELSE 'ACTIVE' END,
    winner = c.account, prize = c.amount, drawn_at = c.block_time,
    winner_tickets = CASE WHEN c.account IS NOT NULL THEN coalesce(t.tickets, 0) END
  FROM ${WANTED}
  CROSS JOIN LATERAL (
    SELECT bool_or(e.kind = 'DrawCancelled') AS cancelled, bool_or(e.kind = 'DrawClosed') AS closed
    FROM chain_events e WHERE e.contract = w.contract AND e.draw_id = w.draw_id::numeric AND e.outcome = 'APPLIED'
      AND e.kind IN ('DrawOpened', 'DrawClosed', 'DrawCancelled', 'DrawCompleted')) s
  LEFT JOIN LATERAL (
    SELECT e.account, e.amount, e.block_time
    FROM chain_events e WHERE e.contract = w.contract AND e.draw_id = w.draw_id::numeric AND e.outcome = 'APPLIED'
      AND e.kind IN ('DrawOpened', 'DrawClosed', 'DrawCancelled', 'DrawCompleted') AND e.kind = 'DrawCompleted'
    ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1) c ON true
  LEFT JOIN lottery_tickets t
    ON t.contract = w.contract AND t.draw_id = w.draw_id AND t.account = c.account
  WHERE d.contract = w.contract AND d.draw_id = w.draw_id`;
