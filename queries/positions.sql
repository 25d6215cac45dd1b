-- Named statements of positions. Written by `npm run generate`.

-- src/extensions/positions/positions.sql.ts, on standbys where there are some
-- $1 caller text, $2 limit bigint, $3 offset bigint
PREPARE list_positions AS
  SELECT (SELECT count(*)::int FROM positions WHERE address = ($1::text)) AS total,
    coalesce(json_agg(
json_build_object('poolId', o.pool_id, 'address', ($1::text), 'deposited', coalesce(o.deposited, 0)::text, 'withdrawn', coalesce(o.withdrawn, 0)::text,
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
  WHERE e.pool_id = o.pool_id AND e.account = ($1::text) AND e.outcome = 'APPLIED'
    AND e.kind IN ('CompoundingStarted', 'CompoundingStopped')
  ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1), false), 'blockNumber', coalesce(a.number, b.number),
  'blockTime', iso(CASE WHEN a.number IS NULL THEN b.time ELSE a.time END)) ORDER BY o.pool_id DESC), '[]')::text AS data
  FROM (
    SELECT * FROM positions WHERE address = ($1::text) ORDER BY pool_id DESC LIMIT ($2::bigint) OFFSET ($3::bigint)
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
  LEFT JOIN share_holdings h ON h.vault = n.contract AND h.account = ($1::text) AND n.name IN (h.account, n.contract)
  WHERE n.pool_id = o.pool_id AND (SELECT EXISTS (SELECT FROM share_prices))
) v ON true;

-- src/extensions/positions/positions.sql.ts, on standbys where there are some
-- $1 caller text, $2 pool uuid
PREPARE pool_position AS
  SELECT CASE WHEN o.pool_id IS NOT NULL OR (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($1::text)))
    THEN
json_build_object('poolId', p.id, 'address', ($1::text), 'deposited', coalesce(o.deposited, 0)::text, 'withdrawn', coalesce(o.withdrawn, 0)::text,
  'balance', coalesce(o.balance, 0)::text,
  'earned', CASE WHEN v.claimable IS NULL AND coalesce(w.accruals, 0) = 0 AND EXISTS (
      SELECT FROM pools own JOIN chain_contracts k ON k.address = own.contract_address
      WHERE own.id = p.id AND (k.calls IS NOT NULL OR k.pools_by <> 'reference'))
    THEN NULL ELSE coalesce(o.claimed + y.claimable + coalesce(v.claimable, 0), 0)::text END, 'claimed', coalesce(o.claimed, 0)::text,

  'claimable', CASE WHEN v.claimable IS NULL AND coalesce(w.accruals, 0) = 0 AND EXISTS (
      SELECT FROM pools own JOIN chain_contracts k ON k.address = own.contract_address
      WHERE own.id = p.id AND (k.calls IS NOT NULL OR k.pools_by <> 'reference'))
    THEN NULL ELSE coalesce(y.claimable + coalesce(v.claimable, 0), 0)::text END, 'compounding',
coalesce((SELECT e.kind = 'CompoundingStarted' FROM chain_events e
  WHERE e.pool_id = p.id AND e.account = ($1::text) AND e.outcome = 'APPLIED'
    AND e.kind IN ('CompoundingStarted', 'CompoundingStopped')
  ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1), false), 'blockNumber', coalesce(a.number, b.number),
  'blockTime', iso(CASE WHEN a.number IS NULL THEN b.time ELSE a.time END))::text END AS data
  FROM pools p LEFT JOIN
(SELECT c.applied_number AS number, CASE c.applied_number WHEN c.block_number THEN c.block_time ELSE b.time END AS time
 FROM chain_cursor c LEFT JOIN chain_blocks b ON b.number = c.applied_number WHERE c.applied_number >= 0) b ON true LEFT JOIN LATERAL
(SELECT c.number, c.time FROM
(SELECT a.address, greatest(a.block_number, e.number) AS number,
   CASE WHEN e.number > a.block_number THEN e.time ELSE a.block_time END AS time
 FROM chain_contracts_apart a LEFT JOIN LATERAL (SELECT block_number AS number, block_time AS time
   FROM chain_events WHERE contract = a.address ORDER BY seq DESC LIMIT 1) e ON true) c JOIN pools own ON own.contract_address = c.address
 WHERE own.id = p.id AND c.number < b.number) a ON true
  LEFT JOIN positions o ON o.pool_id = p.id AND o.address = ($1::text)

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
  LEFT JOIN share_holdings h ON h.vault = n.contract AND h.account = ($1::text) AND n.name IN (h.account, n.contract)
  WHERE n.pool_id = p.id AND (SELECT EXISTS (SELECT FROM share_prices))
) v ON true
  WHERE p.id = ($2::uuid);
