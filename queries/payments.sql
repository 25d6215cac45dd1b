-- Named statements of payments. Written by `npm run generate`.

-- src/extensions/payments/calls.sql.ts
-- $1 contract text, $2 drawId bigint, $3 caller text
PREPARE draw_of_call AS
  SELECT chain.*,
(SELECT k.token FROM chain_tokens k WHERE k.contract = c.address AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = k.contract AND a.state = 'quarantined')) AS token, c.address AS contract,
    (SELECT k.calls IS NOT NULL FROM chain_contracts k WHERE k.address = c.address) AS "hasOwnCalls", d.status, d.paid, CASE
  WHEN d.status = 'DRAWING' AND last.number >= d.pick_block THEN 'complete'
  WHEN d.status = 'ACTIVE' AND last.time >= d.draw_time + interval '7 days' THEN 'cancel' END AS due,
    (CASE d.status WHEN 'CANCELLED' THEN greatest(t.paid_in - t.refunded, 0) ELSE 0 END)::text AS refundable,
    coalesce(head."isAtHead", false) AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = c.address) AS "isCurrent"
  FROM (SELECT * FROM (SELECT address, position FROM chain_contracts WHERE type = 'lottery') all_of WHERE address = coalesce(($1::text), address)
    ORDER BY position DESC LIMIT 1) c
  LEFT JOIN (SELECT chain_id AS "chainId" FROM chain_facts) chain ON true LEFT JOIN (SELECT block_number AS number, block_time AS time FROM chain_cursor) last ON true
  LEFT JOIN
(SELECT state = 'synced' AND applied_number >= head_number AND NOT (beat_at < now() - interval '15 seconds'
   OR progress_at < now() - interval '20 seconds') AS "isAtHead" FROM chain_cursor) head ON true
  LEFT JOIN lottery_draws d ON d.contract = c.address AND d.draw_id = ($2::bigint)
  LEFT JOIN lottery_tickets t ON t.contract = d.contract AND t.draw_id = d.draw_id AND t.account = ($3::text);

-- src/extensions/payments/calls.sql.ts
PREPARE draw_to_call AS
  SELECT chain.*,
(SELECT k.token FROM chain_tokens k WHERE k.contract = d.contract AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = k.contract AND a.state = 'quarantined')) AS token, d.contract, d.draw_id AS "drawId", d.ticket_price AS "ticketPrice",
    (SELECT k.calls IS NOT NULL FROM chain_contracts k WHERE k.address = d.contract) AS "hasOwnCalls"
  FROM (SELECT) one LEFT JOIN (SELECT chain_id AS "chainId" FROM chain_facts) chain ON true
  LEFT JOIN (
  SELECT d.* FROM (SELECT address, position FROM chain_contracts WHERE type = 'lottery') c CROSS JOIN LATERAL (
    SELECT * FROM lottery_draws WHERE contract = c.address AND status IN ('ACTIVE', 'DRAWING')
    ORDER BY draw_id DESC LIMIT 1
  ) d
  ORDER BY c.position DESC LIMIT 1) d ON d.status = 'ACTIVE' AND d.draw_time > (SELECT block_time FROM chain_cursor);

-- src/extensions/payments/calls.sql.ts
-- $1 caller text, $2 transaction uuid, $3 pool uuid
PREPARE pool_to_pay AS
  SELECT
(
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($1::text))) AS readable, p.contract_address AS contract, chain.*,
(SELECT k.token FROM chain_tokens k WHERE k.contract = p.contract_address AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = k.contract AND a.state = 'quarantined')) AS token,
(SELECT k.minimum::text FROM chain_contracts k WHERE k.type = p.type AND k.address = p.contract_address) AS minimum,

coalesce((SELECT c.circles FROM chain_contracts c WHERE c.type = p.type::text AND c.address = p.contract_address), false) AS "holdsCircles",
t.account, t.status, t.amount::text, coalesce(
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END IS NOT NULL, false) AS "isSubmitted",
    (SELECT json_build_object('calls', coalesce(k.calls, '{}'), 'poolsBy', k.pools_by,
      'owner', (SELECT u.address FROM users u WHERE u.id = p.owner_id),
      'number', (SELECT n.name FROM pool_names n WHERE n.pool_id = p.id),
      'isInPlace', CASE k.pools_by WHEN 'contract' THEN coalesce(k.pool_id = p.id, false) WHEN 'account' THEN coalesce(
        (SELECT n.pool_id = p.id FROM pool_names n
          WHERE n.stand_in = pool_stand_in(k.address, (SELECT u.address::text FROM users u WHERE u.id = p.owner_id))),
        NOT EXISTS (SELECT FROM pools o
          WHERE o.owner_id = p.owner_id AND o.contract_address = p.contract_address AND o.id < p.id))
        ELSE true END,
      'block', (SELECT c.block_number FROM chain_cursor c))
    FROM chain_contracts k WHERE k.address = p.contract_address AND (k.calls IS NOT NULL OR k.pools_by <> 'reference')
    -- A contract that is followed for other pools only is no reference contract for these.
    ORDER BY k.type = p.type::text DESC LIMIT 1) AS own,
    o.pool_id IS NOT NULL AS "hasPosition", coalesce(o.balance, 0)::text AS balance,
    coalesce(y.claimable + coalesce(v.claimable, 0), 0)::text AS claimable,
coalesce((SELECT e.kind = 'CompoundingStarted' FROM chain_events e
  WHERE e.pool_id = p.id AND e.account = ($1::text) AND e.outcome = 'APPLIED'
    AND e.kind IN ('CompoundingStarted', 'CompoundingStopped')
  ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1), false) AS compounding,
    coalesce(head."isAtHead", false) AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = p.contract_address) AND NOT
EXISTS (SELECT FROM transactions t JOIN submissions s ON s.transaction_id = t.id
  WHERE t.pool_id = p.id AND t.status IN ('PENDING', 'EXPIRED') AND t.account = ($1::text)) AS "isCurrent"
  FROM pools p
LEFT JOIN (SELECT chain_id AS "chainId" FROM chain_facts) chain ON true LEFT JOIN
(SELECT state = 'synced' AND applied_number >= head_number AND NOT (beat_at < now() - interval '15 seconds'
   OR progress_at < now() - interval '20 seconds') AS "isAtHead" FROM chain_cursor) head ON true
LEFT JOIN transactions t ON t.id = ($2::uuid) AND t.pool_id = p.id AND t.type = 'DEPOSIT'
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
  WHERE p.id = ($3::uuid);

-- src/extensions/payments/stray-deposits.controller.ts
-- $1 caller text, $2 limit bigint, $3 offset bigint
PREPARE list_stray_deposits AS
WITH stray AS MATERIALIZED (
  SELECT e.contract, e.pool_id, sum(CASE e.kind WHEN 'Deposited' THEN e.amount WHEN 'Withdrawn' THEN -e.amount END) AS amount
  FROM chain_events e
  WHERE e.account = ($1::text) AND e.outcome IN ('UNKNOWN_POOL', 'REFUSED') AND e.kind IN ('Deposited', 'Withdrawn')
    AND (e.outcome = 'UNKNOWN_POOL'
      OR NOT EXISTS (SELECT FROM pools p WHERE p.id = e.pool_id AND p.contract_address = e.contract))
  GROUP BY 1, 2 HAVING sum(CASE e.kind WHEN 'Deposited' THEN e.amount WHEN 'Withdrawn' THEN -e.amount END) > 0
)
SELECT (SELECT count(*)::int FROM stray) AS total, (SELECT chain."chainId" FROM (SELECT chain_id AS "chainId" FROM chain_facts) chain) AS "chainId",
  coalesce(json_agg(json_build_object('contract', s.contract, 'poolId', s.pool_id, 'amount', s.amount::text,
    'isReference', NOT EXISTS (SELECT FROM chain_contracts k
      WHERE k.address = s.contract AND (k.calls IS NOT NULL OR k.pools_by <> 'reference' OR k.circles)))), '[]')
    AS data
FROM (SELECT * FROM stray ORDER BY contract, pool_id LIMIT ($2::bigint) OFFSET ($3::bigint)) s;
