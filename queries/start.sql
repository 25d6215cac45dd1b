-- Named statements of start. Written by `npm run generate`.

-- src/extensions/start/start.sql.ts, on standbys where there are some
-- $1 expiresAt text, $2 chainId bigint, $3 user uuid, $4 caller text
PREPARE start AS
  SELECT profile.data AS "user", analytics.data AS analytics, draw.data AS draw,

ARRAY(SELECT c.address FROM chain_contracts c UNION SELECT k.contract FROM chain_tokens k
  EXCEPT SELECT k.contract FROM chain_tokens k JOIN chain_facts f ON k.token = f.token_address) AS "otherContracts", here.*,
    pools.data AS "pools", pools.total AS "poolsTotal",
    positions.data AS "positions", positions.total AS "positionsTotal",
    transactions.data AS "transactions", transactions.total AS "transactionsTotal",
    entries.data AS "entries", entries.total AS "entriesTotal",
    winners.data AS "winners", winners.total AS "winnersTotal"
  FROM (
  SELECT json_build_object(
'id', u.id, 'address', u.address,
'poolCount', (SELECT coalesce(sum(pools), 0) FROM owner_totals WHERE owner_id = u.id AND true),
'totalDeposits', (SELECT coalesce(sum(deposited), 0) FROM account_days WHERE address = u.address AND contract <> ALL(
ARRAY(SELECT c.address FROM chain_contracts c UNION SELECT k.contract FROM chain_tokens k
  EXCEPT SELECT k.contract FROM chain_tokens k JOIN chain_facts f ON k.token = f.token_address)))::text,
'createdAt', iso(u.created_at), 'tokenExpiresAt', ($1::text), 'chainId', ($2::bigint))::text AS data
  FROM users u WHERE u.id = ($3::uuid)) profile
  CROSS JOIN (
  SELECT json_build_object(
    'activePoolsCount', (SELECT coalesce(sum(active), 0) FROM owner_totals WHERE owner_id = u.id),
    'joinedAt', iso(u.created_at),

'totalDeposited', d.deposited, 'pendingDeposits', d.pending, 'totalYield', p.yield, 'yieldEarned', d.claimed,
'averageAPR', p.apr, 'chartData', json_build_object('deposits', d.deposits, 'yields', d.yields),
    'otherTokens', CASE others.contracts WHEN '{}' THEN '[]' ELSE (
      SELECT coalesce(json_agg(json_build_object('token', o.token, 'symbol', o.symbol, 'decimals', o.decimals, 'activePoolsCount', p.active,
'totalDeposited', d.deposited, 'pendingDeposits', d.pending, 'totalYield', p.yield, 'yieldEarned', d.claimed,
'averageAPR', p.apr, 'chartData', json_build_object('deposits', d.deposits, 'yields', d.yields)) ORDER BY o.token), '[]')
      FROM
(SELECT k.token, min(k.symbol) AS symbol, min(k.decimals) AS decimals, array_agg(k.contract) AS contracts
 FROM chain_tokens k JOIN chain_facts f ON k.token <> f.token_address GROUP BY k.token) o CROSS JOIN LATERAL
(SELECT coalesce(sum(deposited), 0)::text AS deposited, coalesce(sum(pending), 0)::text AS pending,
  coalesce(sum(claimed), 0)::text AS claimed,
  coalesce(json_agg(json_build_object('date', day, 'amount', deposited::text)) FILTER (WHERE deposited > 0), '[]') AS deposits,
  coalesce(json_agg(json_build_object('date', day, 'amount', claimed::text)) FILTER (WHERE claimed > 0), '[]') AS yields,
  count(*) AS days
 FROM (
  SELECT day, sum(deposited) AS deposited, sum(pending) AS pending, sum(claimed) AS claimed
  FROM account_days WHERE address = u.address AND contract = ANY(o.contracts) GROUP BY day ORDER BY day
 ) days) d CROSS JOIN LATERAL
(SELECT coalesce(sum(yield), 0)::text AS yield, coalesce(sum(active), 0) AS active, coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0) AS apr,
  coalesce(sum(pools), 0) AS pools
 FROM owner_totals WHERE owner_id = u.id AND contract = ANY(o.contracts)) p
      WHERE d.days > 0 OR p.pools > 0) END)::text AS data
  FROM users u CROSS JOIN (SELECT
ARRAY(SELECT c.address FROM chain_contracts c UNION SELECT k.contract FROM chain_tokens k
  EXCEPT SELECT k.contract FROM chain_tokens k JOIN chain_facts f ON k.token = f.token_address) AS contracts OFFSET 0) others CROSS JOIN LATERAL
(SELECT coalesce(sum(deposited), 0)::text AS deposited, coalesce(sum(pending), 0)::text AS pending,
  coalesce(sum(claimed), 0)::text AS claimed,
  coalesce(json_agg(json_build_object('date', day, 'amount', deposited::text)) FILTER (WHERE deposited > 0), '[]') AS deposits,
  coalesce(json_agg(json_build_object('date', day, 'amount', claimed::text)) FILTER (WHERE claimed > 0), '[]') AS yields,
  count(*) AS days
 FROM (
  SELECT day, sum(deposited) AS deposited, sum(pending) AS pending, sum(claimed) AS claimed
  FROM account_days WHERE address = u.address AND contract <> ALL(others.contracts) GROUP BY day ORDER BY day
 ) days) d CROSS JOIN LATERAL
(SELECT coalesce(sum(yield), 0)::text AS yield, coalesce(sum(active), 0) AS active, coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0) AS apr,
  coalesce(sum(pools), 0) AS pools
 FROM owner_totals WHERE owner_id = u.id AND contract <> ALL(others.contracts)) p
  WHERE u.id = ($3::uuid)) analytics
  CROSS JOIN
(SELECT present.xid::text, present.position::text, present.item
 FROM outbox_removed r CROSS JOIN LATERAL (
    SELECT * FROM (
      (SELECT o.xid, o.position, o.count AS item FROM outbox o WHERE o.xid < outbox_xid(pg_snapshot_xmin(pg_current_snapshot()))
        ORDER BY o.xid DESC, o.position DESC LIMIT 1)
      UNION ALL SELECT r.xid, r.position, 65535
      UNION ALL SELECT r.era, 0, 0
    ) place ORDER BY xid DESC, position DESC, item DESC LIMIT 1) present WHERE r.id = 1) here
  CROSS JOIN (
  SELECT CASE WHEN (null::uuid) IS NULL THEN (
(SELECT coalesce(sum(pools), 0) FROM owner_totals WHERE owner_id = (SELECT id FROM users WHERE address = ($4::text)) AND (type = (null::text) OR (null::text) IS NULL))
+ (SELECT count(*) FROM pool_members m WHERE NOT m.indexed AND m.role = 'MEMBER' AND m.address = ($4::text) AND ((null::text) IS NULL OR m.type = (null::text)))
+
(SELECT coalesce(sum(count), 0) FROM member_counts WHERE address = ($4::text)
  AND CASE WHEN (null::text) IS NULL THEN type IN ('individual','cooperative','lottery','rotating') ELSE type = (null::text) END))::int END AS total,
coalesce(json_agg(json_build_object(
'id', p.id, 'type', p.type, 'contractAddress', p.contract_address, 'balance', p.balance::text,
'pendingBalance', p.pending_balance::text, 'totalYield', coalesce(p.claimed_yield + v.claimable, p.total_yield)::text,
'apr', trim_scale(coalesce(v.apr_bps, p.apr_bps) / 100.0), 'autoCompound', p.auto_compound,
'createdAt', iso(p.created_at), 'lastUpdate', iso(p.last_update),
'members', p.member_count, 'recentTransactions',
(SELECT coalesce(json_agg(json_build_object(
'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account)), '[]')
 FROM ((SELECT * FROM transactions WHERE pool_id = p.id AND type = 'DEPOSIT' ORDER BY id DESC LIMIT 10) UNION ALL (SELECT * FROM transactions WHERE pool_id = p.id AND type = 'WITHDRAWAL' ORDER BY id DESC LIMIT 10) UNION ALL (SELECT * FROM transactions WHERE pool_id = p.id AND type = 'YIELD_CLAIM' ORDER BY id DESC LIMIT 10) ORDER BY id DESC LIMIT 10) t)) ORDER BY n) FILTER (WHERE n <= (50::integer)), '[]')::text AS data,
CASE WHEN count(*) > (50::integer) THEN (array_agg(page.pool_id ORDER BY n))[(50::integer)] END AS next
  FROM (SELECT pool_id, row_number() OVER () AS n FROM (
SELECT pool_id FROM ((SELECT pool_id FROM pool_members WHERE address = ($4::text) AND (null::text) IS NULL AND pool_id < coalesce((null::uuid), 'ffffffffffffffffffffffffffffffff')
    ORDER BY pool_id DESC LIMIT (50::integer) + (0::bigint) + 1) UNION ALL (SELECT pool_id FROM pool_members WHERE address = ($4::text) AND role = 'OWNER' AND type = (null::text) AND pool_id < coalesce((null::uuid), 'ffffffffffffffffffffffffffffffff')
    ORDER BY pool_id DESC LIMIT (50::integer) + (0::bigint) + 1) UNION ALL (SELECT pool_id FROM pool_members WHERE address = ($4::text) AND role = 'MEMBER' AND indexed AND type = (null::text) AND pool_id < coalesce((null::uuid), 'ffffffffffffffffffffffffffffffff')
    ORDER BY pool_id DESC LIMIT (50::integer) + (0::bigint) + 1) UNION ALL (SELECT pool_id FROM pool_members WHERE address = ($4::text) AND role = 'MEMBER' AND NOT indexed AND type = (null::text) AND pool_id < coalesce((null::uuid), 'ffffffffffffffffffffffffffffffff')
    ORDER BY pool_id DESC LIMIT (50::integer) + (0::bigint) + 1)) merged
ORDER BY pool_id DESC LIMIT (50::integer) + 1 OFFSET (0::bigint)) found) page
  JOIN LATERAL (SELECT * FROM pools WHERE id = page.pool_id OFFSET 0) p ON true
LEFT JOIN LATERAL (
  SELECT greatest(div(coalesce(h.shares, 0) * s.price, 1000000000000000000000000000000000000::numeric) - coalesce(h.cost, 0), 0) AS claimable,
    (SELECT least(greatest(round((s.price / nullif(o.price, 0) - 1) * 31536000
    / extract(epoch FROM s.block_time - o.block_time) * 10000), 0), 10000000)::bigint
  FROM (SELECT * FROM share_prices WHERE vault = s.vault ORDER BY day LIMIT 1) o
  WHERE o.block_time <= s.block_time - interval '1 day') AS apr_bps
  FROM pool_names n
  JOIN LATERAL (SELECT * FROM share_prices WHERE vault = n.contract ORDER BY day DESC LIMIT 1) s ON true
  LEFT JOIN LATERAL (
    SELECT shares, cost FROM share_holdings WHERE vault = n.contract AND account = n.name AND n.name <> n.contract
    UNION ALL SELECT shares, cost FROM share_totals WHERE vault = n.contract AND n.name = n.contract
  ) h ON true
  WHERE n.pool_id = p.id AND (SELECT EXISTS (SELECT FROM share_prices))
) v ON true) pools
  CROSS JOIN (
  SELECT (SELECT count(*)::int FROM positions WHERE address = ($4::text)) AS total,
    coalesce(json_agg(
json_build_object('poolId', o.pool_id, 'address', ($4::text), 'deposited', coalesce(o.deposited, 0)::text, 'withdrawn', coalesce(o.withdrawn, 0)::text,
  'balance', coalesce(o.balance, 0)::text,
  'earned', CASE WHEN v.claimable IS NULL AND coalesce(w.accruals, 0) = 0 AND EXISTS (
      SELECT FROM pools own JOIN chain_contracts k ON k.address = own.contract_address
      WHERE own.id = o.pool_id AND (k.calls IS NOT NULL OR k.pools_by <> 'reference'))
    THEN NULL ELSE coalesce(o.claimed + y.claimable + coalesce(v.claimable, 0), 0)::text END, 'claimed', coalesce(o.claimed, 0)::text,

  'claimable', CASE WHEN v.claimable IS NULL AND coalesce(w.accruals, 0) = 0 AND EXISTS (
      SELECT FROM pools own JOIN chain_contracts k ON k.address = own.contract_address
      WHERE own.id = o.pool_id AND (k.calls IS NOT NULL OR k.pools_by <> 'reference'))
    THEN NULL ELSE coalesce(y.claimable + coalesce(v.claimable, 0), 0)::text END, 'compounding',
coalesce((SELECT e.kind = 'CompoundingStarted' FROM chain_events e
  WHERE e.pool_id = o.pool_id AND e.account = ($4::text) AND e.outcome = 'APPLIED'
    AND e.kind IN ('CompoundingStarted', 'CompoundingStopped')
  ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1), false), 'blockNumber', coalesce(a.number, b.number),
  'blockTime', iso(CASE WHEN a.number IS NULL THEN b.time ELSE a.time END)) ORDER BY o.pool_id DESC), '[]')::text AS data
  FROM (
    SELECT * FROM positions WHERE address = ($4::text) ORDER BY pool_id DESC LIMIT (100::bigint) OFFSET (0::bigint)
  ) o
  LEFT JOIN
(SELECT c.applied_number AS number, CASE c.applied_number WHEN c.block_number THEN c.block_time ELSE b.time END AS time
 FROM chain_cursor c LEFT JOIN chain_blocks b ON b.number = c.applied_number WHERE c.applied_number >= 0) b ON true LEFT JOIN LATERAL
(SELECT c.number, c.time FROM
(SELECT a.address, greatest(a.block_number, e.number) AS number,
   CASE WHEN e.number > a.block_number THEN e.time ELSE a.block_time END AS time
 FROM chain_contracts_apart a LEFT JOIN LATERAL (SELECT block_number AS number, block_time AS time
   FROM chain_events WHERE contract = a.address ORDER BY seq DESC LIMIT 1) e ON true) c JOIN pools own ON own.contract_address = c.address
 WHERE own.id = o.pool_id AND c.number < b.number) a ON true

LEFT JOIN pool_weights w ON w.pool_id = o.pool_id
LEFT JOIN accrual_rates f ON f.pool_id = o.pool_id AND f.number = o.accruals + 1
CROSS JOIN LATERAL (SELECT o.owed +
coalesce(div((o.balance * f.time - o.weight_offset) * f.per_weight, 340282366920938463463374607431768211456::numeric)
  + div(o.balance * (w.last_per_unit - f.per_unit), 340282366920938463463374607431768211456::numeric), 0) AS claimable OFFSET 0) y
LEFT JOIN LATERAL (
  SELECT greatest(div(coalesce(h.shares, 0) * s.price, 1000000000000000000000000000000000000::numeric) - coalesce(h.cost, 0), 0) AS claimable,
    (SELECT least(greatest(round((s.price / nullif(o.price, 0) - 1) * 31536000
    / extract(epoch FROM s.block_time - o.block_time) * 10000), 0), 10000000)::bigint
  FROM (SELECT * FROM share_prices WHERE vault = s.vault ORDER BY day LIMIT 1) o
  WHERE o.block_time <= s.block_time - interval '1 day') AS apr_bps
  FROM pool_names n
  JOIN LATERAL (SELECT * FROM share_prices WHERE vault = n.contract ORDER BY day DESC LIMIT 1) s ON true
  LEFT JOIN share_holdings h ON h.vault = n.contract AND h.account = ($4::text) AND n.name IN (h.account, n.contract)
  WHERE n.pool_id = o.pool_id AND (SELECT EXISTS (SELECT FROM share_prices))
) v ON true) positions
  CROSS JOIN (
  WITH
memberships AS MATERIALIZED (
  SELECT p.id,
CASE WHEN (null::text) IS NULL THEN p.deposit_count + p.withdrawal_count + p.claim_count
  WHEN (null::text) = 'DEPOSIT' THEN p.deposit_count WHEN (null::text) = 'WITHDRAWAL' THEN p.withdrawal_count
  WHEN (null::text) = 'YIELD_CLAIM' THEN p.claim_count END AS count,
    p.last_deposit_id, p.last_withdrawal_id, p.last_claim_id
  FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
  WHERE NOT m.indexed AND m.role = 'MEMBER' AND m.address = ($4::text)
), candidates AS MATERIALIZED (
      SELECT id, type, first FROM (
  SELECT m.id, k.type, k.newest AS first
  FROM memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
    ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest)
  WHERE k.newest > '00000000000000000000000000000000'::uuid AND ((null::text) IS NULL OR k.type = (null::text)) UNION ALL
  SELECT s.pool_id, k.type, s.last_id FROM (SELECT * FROM
(VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
  AS k(type, status)
WHERE (SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($4::text)))) k CROSS JOIN LATERAL (
    SELECT pool_id, first_id, last_id FROM member_streams
    WHERE address = ($4::text) AND type = k.type AND status = k.status AND last_id > '00000000000000000000000000000000'::uuid AND last_id < 'ffffffffffffffffffffffffffffffff'::uuid ORDER BY last_id DESC LIMIT (8::integer) + (0::bigint) + 1) s
  WHERE ((null::text) IS NULL OR k.type = (null::text)) AND (NULL::text IS NULL OR k.status = NULL::text)) streams
      WHERE first IS NOT NULL ORDER BY first desc LIMIT (8::integer) + (0::bigint) + 1
    ), farthest AS MATERIALIZED (
      SELECT coalesce((SELECT first FROM candidates OFFSET greatest((8::integer) + (0::bigint) + 1 - 1, 0)), '00000000000000000000000000000000'::uuid) AS id
    ), whole AS MATERIALIZED (
    SELECT (SELECT coalesce(sum(
CASE WHEN (null::text) IS NULL THEN deposits + withdrawals + claims
  WHEN (null::text) = 'DEPOSIT' THEN deposits WHEN (null::text) = 'WITHDRAWAL' THEN withdrawals
  WHEN (null::text) = 'YIELD_CLAIM' THEN claims END), 0) FROM account_days WHERE address = ($4::text))
      + (SELECT coalesce(sum(count), 0) FROM memberships) +
(SELECT coalesce(sum(count), 0) FROM member_counts WHERE address = ($4::text)
  AND CASE WHEN (null::text) IS NULL THEN type IN ('DEPOSIT','WITHDRAWAL','YIELD_CLAIM') ELSE type = (null::text) END) AS total
  )
  SELECT whole.total::int, list.data, list.next
  FROM whole,
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= (8::integer)), '[]')::text AS data,
CASE WHEN count(*) > (8::integer) THEN (array_agg(page.id ORDER BY n))[(8::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (
    SELECT DISTINCT id FROM (
      (
  SELECT id FROM ((
  SELECT id FROM transactions WHERE ((null::text) IS NULL OR (null::text) = 'DEPOSIT') AND owner_id = ($3::uuid) AND type = 'DEPOSIT' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE ((null::text) IS NULL OR (null::text) = 'WITHDRAWAL') AND owner_id = ($3::uuid) AND type = 'WITHDRAWAL' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE ((null::text) IS NULL OR (null::text) = 'YIELD_CLAIM') AND owner_id = ($3::uuid) AND type = 'YIELD_CLAIM' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE owner_id = ($3::uuid) AND ((null::text) IS NULL OR type = (null::text)) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND NULL::text IN ('PENDING', 'EXPIRED') AND status = NULL::text AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE ((null::text) IS NULL OR (null::text) = 'DEPOSIT') AND account = ($4::text) AND NOT by_owner AND type = 'DEPOSIT' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE ((null::text) IS NULL OR (null::text) = 'WITHDRAWAL') AND account = ($4::text) AND NOT by_owner AND type = 'WITHDRAWAL' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE ((null::text) IS NULL OR (null::text) = 'YIELD_CLAIM') AND account = ($4::text) AND NOT by_owner AND type = 'YIELD_CLAIM' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE account = ($4::text) AND NOT by_owner AND ((null::text) IS NULL OR type = (null::text)) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND NULL::text IN ('PENDING', 'EXPIRED') AND status = NULL::text AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1)) merged
  ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1)
      UNION ALL
      SELECT t.id FROM candidates c CROSS JOIN LATERAL ((
  SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM farthest) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM farthest) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND NULL::text IN ('PENDING', 'EXPIRED') AND status = NULL::text AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT (8::integer) + (0::bigint) + 1)) t
    ) found WHERE (SELECT total > (0::bigint) FROM whole)
    ORDER BY id DESC LIMIT (8::integer) + 1 OFFSET (0::bigint)) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) list) transactions
  CROSS JOIN (
  SELECT (SELECT count(*)::int FROM lottery_tickets WHERE account = ($4::text)) AS total,
    coalesce(json_agg(json_build_object('drawId', d.draw_id, 'contract', d.contract, 'tickets', least(t.tickets, 9007199254740991), 'ticketsExact', t.tickets::text,
      'totalTickets', least(d.total_tickets, 9007199254740991), 'totalTicketsExact', d.total_tickets::text, 'ticketPrice', d.ticket_price::text,
      'spent', (t.tickets * d.ticket_price)::text, 'status', d.status, 'drawTime', iso(d.draw_time),
      'gifts', greatest(t.paid_in - t.tickets * d.ticket_price, 0)::text,
      'won', coalesce(d.winner = ($4::text), false), 'prize', d.prize::text, 'paid', d.paid,
      'refundable', CASE d.status WHEN 'CANCELLED' THEN greatest(t.paid_in - t.refunded, 0) ELSE 0 END::text,
      'due', CASE WHEN d.status = 'COMPLETED' AND d.winner = ($4::text) AND NOT d.paid THEN 'claim'
        WHEN CASE d.status WHEN 'CANCELLED' THEN greatest(t.paid_in - t.refunded, 0) ELSE 0 END > 0 THEN 'refund' ELSE CASE
  WHEN d.status = 'DRAWING' AND last.number >= d.pick_block THEN 'complete'
  WHEN d.status = 'ACTIVE' AND last.time >= d.draw_time + interval '7 days' THEN 'cancel' END END)
      ORDER BY t.position DESC, t.draw_id DESC), '[]')::text AS data
  FROM (
    SELECT c.position, held.*
    FROM (SELECT address, position FROM chain_contracts WHERE type = 'lottery') c CROSS JOIN LATERAL (
      SELECT contract, draw_id, tickets, paid_in, refunded FROM lottery_tickets
      WHERE account = ($4::text) AND contract = c.address
      ORDER BY draw_id DESC LIMIT (5::bigint) + (0::bigint)
    ) held
    ORDER BY c.position DESC, held.draw_id DESC LIMIT (5::bigint) OFFSET (0::bigint)
  ) t JOIN lottery_draws d ON d.contract = t.contract AND d.draw_id = t.draw_id
  LEFT JOIN (SELECT block_number AS number, block_time AS time FROM chain_cursor) last ON true) entries
  CROSS JOIN (
  SELECT CASE WHEN (null::text) IS NULL THEN (SELECT winners::int FROM lottery_totals) END AS total,

coalesce(json_agg(json_build_object('drawId', d.draw_id, 'contract', d.contract, 'winner', d.winner,
'prize', d.prize::text, 'tickets', least(d.winner_tickets, 9007199254740991), 'ticketsExact', d.winner_tickets::text, 'totalTickets', least(d.total_tickets, 9007199254740991), 'totalTicketsExact', d.total_tickets::text,
'drawnAt', iso(d.drawn_at)) ORDER BY n) FILTER (WHERE n <= (3::integer)), '[]')::text AS data,
CASE WHEN count(*) > (3::integer) THEN (array_agg(floor(extract(epoch FROM d.drawn_at) * 1000) || ' ' || d.draw_id || ' ' || d.contract ORDER BY n))[(3::integer)] END AS next
  FROM (
    SELECT *, row_number() OVER () AS n FROM (
      SELECT * FROM lottery_draws
      WHERE status = 'COMPLETED'
        AND (drawn_at, draw_id, contract)
          < (coalesce(to_timestamp((null::float8) / 1000), 'infinity'), coalesce((null::bigint), 0), coalesce((null::text), ''))
      ORDER BY drawn_at DESC, draw_id DESC, contract DESC LIMIT (3::integer) + 1 OFFSET (0::bigint)
    ) found
  ) d) winners
  LEFT JOIN (
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
  ORDER BY c.position DESC LIMIT 1) d LEFT JOIN (SELECT block_number AS number, block_time AS time FROM chain_cursor) last ON true) draw ON true;
