-- Named statements of lottery. Written by `npm run generate`.

-- src/features/lottery/lottery.sql.ts, on standbys where there are some
PREPARE current_draw AS
SELECT json_build_object('drawId', d.draw_id, 'contract', d.contract, 'prizePool', d.prize_pool::text,
  'ticketPrice', d.ticket_price::text, 'participants', d.participants, 'totalTickets', least(d.total_tickets, 9007199254740991), 'totalTicketsExact', d.total_tickets::text,
  'drawTime', iso(d.draw_time), 'status', d.status, 'due', CASE
WHEN d.status = 'DRAWING' AND last.number >= d.pick_block THEN 'complete'
WHEN d.status = 'ACTIVE' AND last.time >= d.draw_time + interval '7 days' THEN 'cancel' END)::text AS data
FROM (
SELECT d.* FROM (SELECT address, position FROM chain_contracts WHERE type = 'lottery') c CROSS JOIN LATERAL (
  SELECT * FROM lottery_draws WHERE contract = c.address AND status IN ('ACTIVE', 'DRAWING')
  ORDER BY draw_id DESC LIMIT 1
) d
ORDER BY c.position DESC LIMIT 1) d LEFT JOIN (SELECT block_number AS number, block_time AS time FROM chain_cursor) last ON true;

-- src/features/lottery/lottery.sql.ts, on standbys where there are some
-- $1 caller text, $2 limit bigint, $3 offset bigint
PREPARE list_tickets AS
SELECT (SELECT count(*)::int FROM lottery_tickets WHERE account = ($1::text)) AS total,
  coalesce(json_agg(json_build_object('drawId', d.draw_id, 'contract', d.contract, 'tickets', least(t.tickets, 9007199254740991), 'ticketsExact', t.tickets::text,
    'totalTickets', least(d.total_tickets, 9007199254740991), 'totalTicketsExact', d.total_tickets::text, 'ticketPrice', d.ticket_price::text,
    'spent', (t.tickets * d.ticket_price)::text, 'status', d.status, 'drawTime', iso(d.draw_time),
    'gifts', greatest(t.paid_in - t.tickets * d.ticket_price, 0)::text,
    'won', coalesce(d.winner = ($1::text), false), 'prize', d.prize::text, 'paid', d.paid,
    'refundable', CASE d.status WHEN 'CANCELLED' THEN greatest(t.paid_in - t.refunded, 0) ELSE 0 END::text,
    'due', CASE WHEN d.status = 'COMPLETED' AND d.winner = ($1::text) AND NOT d.paid THEN 'claim'
      WHEN CASE d.status WHEN 'CANCELLED' THEN greatest(t.paid_in - t.refunded, 0) ELSE 0 END > 0 THEN 'refund' ELSE CASE
WHEN d.status = 'DRAWING' AND last.number >= d.pick_block THEN 'complete'
WHEN d.status = 'ACTIVE' AND last.time >= d.draw_time + interval '7 days' THEN 'cancel' END END)
    ORDER BY t.position DESC, t.draw_id DESC), '[]')::text AS data
FROM (
  SELECT c.position, held.*
  FROM (SELECT address, position FROM chain_contracts WHERE type = 'lottery') c CROSS JOIN LATERAL (
    SELECT contract, draw_id, tickets, paid_in, refunded FROM lottery_tickets
    WHERE account = ($1::text) AND contract = c.address
    ORDER BY draw_id DESC LIMIT ($2::bigint) + ($3::bigint)
  ) held
  ORDER BY c.position DESC, held.draw_id DESC LIMIT ($2::bigint) OFFSET ($3::bigint)
) t JOIN lottery_draws d ON d.contract = t.contract AND d.draw_id = t.draw_id
LEFT JOIN (SELECT block_number AS number, block_time AS time FROM chain_cursor) last ON true;

-- src/features/lottery/lottery.sql.ts, on standbys where there are some
-- $1 contract text, $2 limit integer, $3 drawnAtMs float8, $4 drawId bigint, $5 offset bigint
PREPARE list_winners AS
  SELECT CASE WHEN ($1::text) IS NULL THEN (SELECT winners::int FROM lottery_totals) END AS total,

coalesce(json_agg(json_build_object('drawId', d.draw_id, 'contract', d.contract, 'winner', d.winner,
'prize', d.prize::text, 'tickets', least(d.winner_tickets, 9007199254740991), 'ticketsExact', d.winner_tickets::text, 'totalTickets', least(d.total_tickets, 9007199254740991), 'totalTicketsExact', d.total_tickets::text,
'drawnAt', iso(d.drawn_at)) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($2::integer) THEN (array_agg(floor(extract(epoch FROM d.drawn_at) * 1000) || ' ' || d.draw_id || ' ' || d.contract ORDER BY n))[($2::integer)] END AS next
  FROM (
    SELECT *, row_number() OVER () AS n FROM (
      SELECT * FROM lottery_draws
      WHERE status = 'COMPLETED'
        AND (drawn_at, draw_id, contract)
          < (coalesce(to_timestamp(($3::float8) / 1000), 'infinity'), coalesce(($4::bigint), 0), coalesce(($1::text), ''))
      ORDER BY drawn_at DESC, draw_id DESC, contract DESC LIMIT ($2::integer) + 1 OFFSET ($5::bigint)
    ) found
  ) d;
