import { compareColumns } from './pools.sql';

const DRAW_COLUMNS = [
  'status',
  'ticket_price',
  'prize_pool',
  'participants',
  'total_tickets',
  'draw_time',
  'winner',
  'winner_tickets',
  'prize',
  'drawn_at',
  'pick_block',
  'paid',
] as const;
const SUMS = ['tickets', 'paid_in', 'refunded'] as const;
const list = DRAW_COLUMNS.join(', ');

/** Draws as computed from their applied events. Parameters 1 and 2: contracts and ids. */
const RECOUNT = `
  WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::bigint[]) AS w(contract, draw_id)
  ), events AS MATERIALIZED (
    SELECT w.contract, w.draw_id, e.kind, e.account, e.amount, e.draw_time, e.block_time, e.block_number, e.log_index
    FROM wanted w JOIN chain_events e ON e.contract = w.contract AND e.draw_id = w.draw_id::numeric
    WHERE e.outcome = 'APPLIED'
  ), held AS MATERIALIZED (
    SELECT contract, draw_id, account, coalesce(sum(amount) FILTER (WHERE kind = 'TicketsIssued'), 0) AS tickets,
      coalesce(sum(amount) FILTER (WHERE kind = 'PrizeFunded'), 0) AS paid_in,
      coalesce(sum(amount) FILTER (WHERE kind = 'Refunded'), 0) AS refunded
    FROM events WHERE kind IN ('TicketsIssued', 'PrizeFunded', 'Refunded') GROUP BY 1, 2, 3
  ), sums AS (
    SELECT contract, draw_id, coalesce(sum(amount) FILTER (WHERE kind = 'PrizeFunded'), 0) AS prize_pool,
      bool_or(kind = 'DrawCancelled') AS cancelled, bool_or(kind = 'DrawClosed') AS closed,
      bool_or(kind = 'PrizePaid') AS paid, max(block_number) FILTER (WHERE kind = 'DrawClosed') + 1 AS pick_block
    FROM events GROUP BY 1, 2
  ), sold AS (
    SELECT contract, draw_id, count(*) FILTER (WHERE tickets > 0) AS participants, sum(tickets) AS tickets FROM held GROUP BY 1, 2
  ), opened AS (
    SELECT DISTINCT ON (contract, draw_id) * FROM events WHERE kind = 'DrawOpened'
    ORDER BY contract, draw_id, block_number, log_index
  ), completed AS (
    SELECT DISTINCT ON (contract, draw_id) * FROM events WHERE kind = 'DrawCompleted'
    ORDER BY contract, draw_id, block_number DESC, log_index DESC
  ), recount AS MATERIALIZED (
    SELECT o.contract, o.draw_id,
      CASE WHEN c.account IS NOT NULL THEN 'COMPLETED' WHEN s.cancelled THEN 'CANCELLED'
        WHEN s.closed THEN 'DRAWING' ELSE 'ACTIVE' END AS status,
      o.amount AS ticket_price, s.prize_pool, coalesce(n.participants, 0) AS participants,
      coalesce(n.tickets, 0) AS total_tickets, o.draw_time, c.account AS winner,
      CASE WHEN c.account IS NOT NULL THEN coalesce(h.tickets, 0) END AS winner_tickets, c.amount AS prize,
      c.block_time AS drawn_at, s.pick_block, s.paid
    FROM opened o JOIN sums s USING (contract, draw_id) LEFT JOIN sold n USING (contract, draw_id)
    LEFT JOIN completed c USING (contract, draw_id)
    LEFT JOIN held h ON h.contract = o.contract AND h.draw_id = o.draw_id AND h.account = c.account
  )`;

const KEY = `concat_ws(' ', contract, draw_id)`;
/** Row: number of events counted, differences. Parameters: contracts and ids of draws. */
export const COMPARE_DRAWS = `
  ${RECOUNT}, wrong AS (
    SELECT 'lottery_draws' AS table, ${KEY} AS id, contract, draw_id, d.column_name, d.kept, d.recount
    FROM recount r
    FULL JOIN (SELECT k.* FROM wanted w JOIN lottery_draws k USING (contract, draw_id)) k USING (contract, draw_id)
    CROSS JOIN LATERAL ${compareColumns(
      DRAW_COLUMNS,
      (column) => `k.${column}`,
      (column) => `r.${column}`,
    )} d
    UNION ALL
    SELECT 'lottery_tickets', concat_ws(' ', contract, draw_id, account), contract, draw_id, d.column_name, d.kept, d.recount
    FROM held h
    FULL JOIN (SELECT k.* FROM wanted w JOIN lottery_tickets k USING (contract, draw_id)) k
      USING (contract, draw_id, account)
    CROSS JOIN LATERAL ${compareColumns(
      SUMS,
      (column) => `k.${column}`,
      (column) => `h.${column}`,
    )} d
  )
  SELECT (SELECT count(*)::float8 FROM events) AS rows, coalesce((SELECT json_agg(json_build_object(
    'table', w.table, 'id', w.id, 'contract', w.contract, 'drawId', w.draw_id::text, 'column', w.column_name,
    'kept', w.kept, 'recount', w.recount)) FROM wrong w), '[]') AS differences`;

/** Parameters: contracts and ids of draws. */
export const DELETE_DRAWS = `
  WITH wanted AS (SELECT * FROM unnest($1::text[], $2::bigint[]) AS w(contract, draw_id)),
  tickets AS (DELETE FROM lottery_tickets t USING wanted w WHERE t.contract = w.contract AND t.draw_id = w.draw_id)
  DELETE FROM lottery_draws d USING wanted w WHERE d.contract = w.contract AND d.draw_id = w.draw_id`;
export const MAKE_DRAWS = `
  ${RECOUNT}, tickets AS (
    INSERT INTO lottery_tickets (contract, draw_id, account, ${SUMS.join(', ')})
    SELECT contract, draw_id, account, ${SUMS.join(', ')} FROM held
  )
  INSERT INTO lottery_draws (contract, draw_id, ${list}) SELECT contract, draw_id, ${list} FROM recount`;

const after = `(contract, draw_id) > ($1::text, $2::bigint) ORDER BY contract, draw_id LIMIT $3`;
/** Draws that exist, or should, in order. Parameters: contract and id to go on after, limit. Row: both as a key. */
export const NEXT_DRAWS = `
  SELECT contract || ' ' || draw_id AS key FROM (
    (SELECT contract, draw_id FROM lottery_draws WHERE ${after})
    UNION (SELECT DISTINCT contract, draw_id FROM lottery_tickets WHERE ${after})
    UNION (SELECT DISTINCT contract, draw_id::bigint FROM chain_events
      WHERE kind IN ('DrawOpened', 'DrawClosed', 'DrawCancelled', 'DrawCompleted', 'PrizePaid') AND outcome = 'APPLIED'
        AND (contract, draw_id) > ($1::text, $2::bigint::numeric) ORDER BY contract, draw_id LIMIT $3)
  ) found ORDER BY contract, draw_id LIMIT $3`;

/** Stored counts. Row: id, column, kept, recount. */
export const COMPARE_WINNERS = `
  SELECT 'all' AS id, 'winners' AS "column", (SELECT winners FROM lottery_totals)::text AS kept, count(*)::text AS recount
  FROM lottery_draws WHERE status = 'COMPLETED'
  HAVING count(*) IS DISTINCT FROM (SELECT winners FROM lottery_totals)`;
export const REPAIR_WINNERS = `
  INSERT INTO lottery_totals AS t (winners) SELECT count(*) FROM lottery_draws WHERE status = 'COMPLETED'
  ON CONFLICT ON CONSTRAINT lottery_totals_pkey DO UPDATE SET winners = excluded.winners`;

const SET_ASIDE = `SELECT outcome, count(*) AS count FROM chain_events
  WHERE outcome NOT IN ('WAITING', 'APPLIED') GROUP BY outcome`;
export const COMPARE_SET_ASIDE = `
  SELECT outcome AS id, 'count' AS "column", coalesce(k.count, 0)::text AS kept, coalesce(r.count, 0)::text AS recount
  FROM set_aside_counts k FULL JOIN (${SET_ASIDE}) r USING (outcome)
  WHERE coalesce(k.count, 0) <> coalesce(r.count, 0)`;
export const REPAIR_SET_ASIDE = [
  'DELETE FROM set_aside_counts',
  `INSERT INTO set_aside_counts (outcome, count) ${SET_ASIDE}`,
];
