-- Named statements of pools. Written by `npm run generate`.

-- src/features/pools/pools.sql.ts
-- $1 pools uuid[], $2 types text[], $3 owners uuid[], $4 contracts text[], $5 autoCompound boolean[], $6 members text[], $7 createdAt timestamptz[], $8 ownerAddresses text[], $9 deposits uuid[], $10 amounts numeric[]
PREPARE create_pools AS
INSERT INTO new_pools VALUES (($1::uuid[]), ($2::text[]), ($3::uuid[]), ($4::text[]), ($5::boolean[]), ($6::text[]), ($7::timestamptz[]),
  ($8::text[]), ($9::uuid[]), ($10::numeric[]));

-- src/features/pools/pools.sql.ts
-- $1 pools uuid[], $2 types text[], $3 owners uuid[], $4 contracts text[], $5 autoCompound boolean[], $6 members text[], $7 createdAt timestamptz[], $8 ownerAddresses text[], $9 deposits uuid[], $10 amounts numeric[], $11 keys text[], $12 requestHashes text[], $13 answers text[]
PREPARE create_pools_once AS
WITH attempt AS MATERIALIZED (
  SELECT *, pg_try_advisory_xact_lock(hashtextextended(owner || ' ' || key, 0)) AS locked
  FROM (
    SELECT *, row_number() OVER (PARTITION BY owner, key) AS n
    FROM unnest(($1::uuid[]), ($2::text[]), ($3::uuid[]), ($4::text[]), ($5::boolean[]), ($6::text[]), ($7::timestamptz[]), ($8::text[]),
      ($9::uuid[]), ($10::numeric[]), ($11::text[]), ($12::text[]), ($13::text[])) AS a (
      pool, type, owner, contract, auto_compound, members, created_at, address, deposit, amount, key, hash, answer)
  ) numbered WHERE n = 1
), record AS (
  INSERT INTO idempotency_keys AS i (user_id, key, request_hash, response, created_at)
  SELECT owner, key, hash, answer, now() FROM attempt WHERE locked
  ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
    SET request_hash = excluded.request_hash, response = excluded.response, created_at = excluded.created_at
    WHERE i.created_at < now() - interval '24 hours'
  RETURNING user_id, key
), made AS (
  INSERT INTO new_pools
  SELECT array_agg(pool), array_agg(type), array_agg(owner), array_agg(contract), array_agg(auto_compound),
    array_agg(members), array_agg(created_at), array_agg(address), array_agg(deposit), array_agg(amount)
  FROM attempt JOIN record ON user_id = owner AND record.key = attempt.key HAVING count(*) > 0
  RETURNING pools
)
SELECT unnest(pools) AS pool FROM made;

-- src/features/pools/pools.sql.ts
-- $1 user uuid, $2 key text
PREPARE first_answer AS
SELECT request_hash AS "requestHash", response,
     EXISTS (SELECT FROM cancelled_pools c WHERE c.id = (response::json ->> 'id')::uuid) AS "isCancelled"
   FROM idempotency_keys WHERE user_id = ($1::uuid) AND key = ($2::text) AND created_at >= now() - interval '24 hours';

-- src/features/pools/pools.sql.ts
-- $1 pool uuid, $2 caller text
PREPARE leave_pool AS
WITH gone AS (
  DELETE FROM pool_members WHERE pool_id = ($1::uuid) AND address = ($2::text) AND role = 'MEMBER' RETURNING pool_id
)
SELECT (SELECT role FROM pool_members WHERE pool_id = p.id AND address = ($2::text)) AS role,
  (SELECT json_build_object('poolId', pool_id)::text FROM gone) AS data
FROM pools p WHERE p.id = ($1::uuid);

-- src/features/pools/pools.sql.ts, on standbys where there are some
-- $1 after uuid, $2 caller text, $3 type text, $4 limit integer, $5 offset bigint
PREPARE list_pools AS
  SELECT CASE WHEN ($1::uuid) IS NULL THEN (
(SELECT coalesce(sum(pools), 0) FROM owner_totals WHERE owner_id = (SELECT id FROM users WHERE address = ($2::text)) AND (type = ($3::text) OR ($3::text) IS NULL))
+ (SELECT count(*) FROM pool_members m WHERE NOT m.indexed AND m.role = 'MEMBER' AND m.address = ($2::text) AND (($3::text) IS NULL OR m.type = ($3::text)))
+
(SELECT coalesce(sum(count), 0) FROM member_counts WHERE address = ($2::text)
  AND CASE WHEN ($3::text) IS NULL THEN type IN ('individual','cooperative','lottery','rotating') ELSE type = ($3::text) END))::int END AS total,
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
 FROM ((SELECT * FROM transactions WHERE pool_id = p.id AND type = 'DEPOSIT' ORDER BY id DESC LIMIT 10) UNION ALL (SELECT * FROM transactions WHERE pool_id = p.id AND type = 'WITHDRAWAL' ORDER BY id DESC LIMIT 10) UNION ALL (SELECT * FROM transactions WHERE pool_id = p.id AND type = 'YIELD_CLAIM' ORDER BY id DESC LIMIT 10) ORDER BY id DESC LIMIT 10) t)) ORDER BY n) FILTER (WHERE n <= ($4::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($4::integer) THEN (array_agg(page.pool_id ORDER BY n))[($4::integer)] END AS next
  FROM (SELECT pool_id, row_number() OVER () AS n FROM (
SELECT pool_id FROM ((SELECT pool_id FROM pool_members WHERE address = ($2::text) AND ($3::text) IS NULL AND pool_id < coalesce(($1::uuid), 'ffffffffffffffffffffffffffffffff')
    ORDER BY pool_id DESC LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (SELECT pool_id FROM pool_members WHERE address = ($2::text) AND role = 'OWNER' AND type = ($3::text) AND pool_id < coalesce(($1::uuid), 'ffffffffffffffffffffffffffffffff')
    ORDER BY pool_id DESC LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (SELECT pool_id FROM pool_members WHERE address = ($2::text) AND role = 'MEMBER' AND indexed AND type = ($3::text) AND pool_id < coalesce(($1::uuid), 'ffffffffffffffffffffffffffffffff')
    ORDER BY pool_id DESC LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (SELECT pool_id FROM pool_members WHERE address = ($2::text) AND role = 'MEMBER' AND NOT indexed AND type = ($3::text) AND pool_id < coalesce(($1::uuid), 'ffffffffffffffffffffffffffffffff')
    ORDER BY pool_id DESC LIMIT ($4::integer) + ($5::bigint) + 1)) merged
ORDER BY pool_id DESC LIMIT ($4::integer) + 1 OFFSET ($5::bigint)) found) page
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
) v ON true;

-- src/features/pools/pools.sql.ts, on standbys where there are some
-- $1 caller text, $2 pool uuid
PREPARE pool_detail AS
  SELECT CASE WHEN (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($1::text))) THEN json_build_object(
'id', p.id, 'type', p.type, 'contractAddress', p.contract_address, 'balance', p.balance::text,
'pendingBalance', p.pending_balance::text, 'totalYield', coalesce(p.claimed_yield + v.claimable, p.total_yield)::text,
'apr', trim_scale(coalesce(v.apr_bps, p.apr_bps) / 100.0), 'autoCompound', p.auto_compound,
'createdAt', iso(p.created_at), 'lastUpdate', iso(p.last_update),
    'owner', json_build_object('id', u.id, 'address', u.address),
    'memberAddresses', (SELECT coalesce(json_agg(m.address ORDER BY m.address), '[]') FROM pool_members m
      WHERE m.pool_id = p.id AND m.address <> u.address),
    'transactions',
(SELECT coalesce(json_agg(json_build_object(
'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account)), '[]')
 FROM ((SELECT * FROM transactions WHERE pool_id = p.id AND type = 'DEPOSIT' ORDER BY id DESC LIMIT 100) UNION ALL (SELECT * FROM transactions WHERE pool_id = p.id AND type = 'WITHDRAWAL' ORDER BY id DESC LIMIT 100) UNION ALL (SELECT * FROM transactions WHERE pool_id = p.id AND type = 'YIELD_CLAIM' ORDER BY id DESC LIMIT 100) ORDER BY id DESC LIMIT 100) t))::text END AS data
  FROM pools p JOIN users u ON u.id = p.owner_id
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
) v ON true WHERE p.id = ($2::uuid);

-- src/features/pools/pools.sql.ts, on standbys where there are some
-- $1 caller text, $2 pool uuid
PREPARE pool_yield AS
  SELECT CASE WHEN (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($1::text))) THEN json_build_object(
    'totalYield', coalesce(p.claimed_yield + v.claimable, p.total_yield)::text,
    'claimableYield', greatest(coalesce(p.claimed_yield + v.claimable, p.total_yield) - p.claimed_yield, 0)::text,
    'apr', trim_scale(coalesce(v.apr_bps, p.apr_bps) / 100.0),
    'apy', trim_scale(round(
      ((power(1 + least(coalesce(v.apr_bps, p.apr_bps), 10000000) / 3650000.0::float8, 365) - 1) * 100)::numeric, 2)),
    'lastClaimed', iso(p.last_claimed_at))::text END AS data
  FROM pools p
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
) v ON true WHERE p.id = ($2::uuid);

-- src/features/pools/pools.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_idempotency_keys AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired idempotency_keys', 0)) AS mine
), removed AS (
  DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM idempotency_keys
    WHERE (SELECT mine FROM turn) AND created_at < now() - interval '24 hours' AND created_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY created_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING created_at
)
SELECT count(*)::int AS removed, max(created_at)::text AS reached FROM removed;

-- src/features/pools/pools.sql.ts
-- $1 autoCompound boolean, $2 pool uuid, $3 caller text
PREPARE update_pool AS
  WITH changed AS (
    UPDATE pools SET (auto_compound) = ROW(coalesce(($1::boolean), auto_compound)), last_update = now()
    WHERE id = ($2::uuid) AND ROW(auto_compound) <> ROW(coalesce(($1::boolean), auto_compound))
      AND EXISTS (SELECT FROM pool_members m WHERE m.pool_id = ($2::uuid) AND m.address = ($3::text) AND m.role = 'OWNER')
  )
  SELECT CASE WHEN m.address IS NOT NULL THEN json_build_object('id', p.id,
    'autoCompound', coalesce(($1::boolean), p.auto_compound),
    'compounding',
coalesce((SELECT e.kind = 'CompoundingStarted' FROM chain_events e
  WHERE e.pool_id = p.id AND e.account = ($3::text) AND e.outcome = 'APPLIED'
    AND e.kind IN ('CompoundingStarted', 'CompoundingStopped')
  ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1), false))::text END AS data
  FROM pools p LEFT JOIN pool_members m ON m.pool_id = p.id AND m.address = ($3::text) AND m.role = 'OWNER'
  WHERE p.id = ($2::uuid);

-- src/features/pools/unpaid.sql.ts
-- $1 pool uuid, $2 caller text
PREPARE cancel_pool AS
SELECT cancel_pool(($1::uuid), ($2::text)) AS outcome;

-- src/features/pools/unpaid.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE cancel_unpaid AS
  WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended('expired pools', 0)) AS mine
  ), looked AS MATERIALIZED (
    SELECT id, pool_id, created_at FROM transactions
    WHERE (SELECT mine FROM turn) AND status = 'EXPIRED' AND created_at < (SELECT least(now(), b.time) FROM
(SELECT c.applied_number AS number, CASE c.applied_number WHEN c.block_number THEN c.block_time ELSE b.time END AS time
 FROM chain_cursor c LEFT JOIN chain_blocks b ON b.number = c.applied_number WHERE c.applied_number >= 0) b WHERE b.time IS NOT NULL) - interval '7 days'
      AND created_at >= coalesce(($1::timestamptz), (SELECT least(now(), b.time) FROM
(SELECT c.applied_number AS number, CASE c.applied_number WHEN c.block_number THEN c.block_time ELSE b.time END AS time
 FROM chain_cursor c LEFT JOIN chain_blocks b ON b.number = c.applied_number WHERE c.applied_number >= 0) b WHERE b.time IS NOT NULL) - interval '60 days')
    ORDER BY created_at LIMIT 25 * ($2::integer)
  ), due AS MATERIALIZED (
    SELECT p.id, p.owner_id, u.address, l.created_at
    FROM looked l JOIN pools p ON p.id = l.pool_id JOIN users u ON u.id = p.owner_id
    WHERE p.deposit_count = 1 AND p.withdrawal_count = 0 AND p.claim_count = 0 AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = p.contract_address)
      AND (l.created_at <= now() - interval '30 days'
        OR NOT EXISTS (SELECT FROM submissions s WHERE s.transaction_id = l.id))
    ORDER BY l.created_at LIMIT ($2::integer)
  ), locked AS MATERIALIZED (
    SELECT p.id FROM pools p WHERE p.id = ANY (ARRAY(SELECT id FROM due)) ORDER BY p.id FOR UPDATE SKIP LOCKED
  ), done AS MATERIALIZED (
    SELECT cancel_pool(due.id, due.address) AS outcome FROM due JOIN locked USING (id) ORDER BY owner_id
  )
  SELECT (SELECT count(*)::int FROM done WHERE outcome = 'cancelled') AS removed, max(created_at)::text AS reached,
    count(*) IN (($2::integer), 25 * ($2::integer)) AND coalesce(max(created_at) > ($1::timestamptz), true) AS more
  FROM (
    SELECT created_at FROM due WHERE (SELECT count(*) = ($2::integer) FROM due)
    UNION ALL SELECT created_at FROM looked WHERE (SELECT count(*) < ($2::integer) FROM due)
  ) reached;

-- src/features/pools/unpaid.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_cancelled_pools AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired cancelled_pools', 0)) AS mine
), removed AS (
  DELETE FROM cancelled_pools WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM cancelled_pools
    WHERE (SELECT mine FROM turn) AND cancelled_at < (SELECT least(now(), b.time) FROM
(SELECT c.applied_number AS number, CASE c.applied_number WHEN c.block_number THEN c.block_time ELSE b.time END AS time
 FROM chain_cursor c LEFT JOIN chain_blocks b ON b.number = c.applied_number WHERE c.applied_number >= 0) b WHERE b.time IS NOT NULL) - interval '30 days' AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = contract_address) AND cancelled_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY cancelled_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING cancelled_at
)
SELECT count(*)::int AS removed, max(cancelled_at)::text AS reached FROM removed;

-- src/features/pools/unpaid.sql.ts
-- $1 id uuid, $2 caller text, $3 hash text
PREPARE submit_deposit AS
  WITH
deposit AS MATERIALIZED (
  SELECT id, account, status, type FROM transactions WHERE id = ($1::uuid) AND account = ($2::text) FOR NO KEY UPDATE
), told AS (
    INSERT INTO submissions AS s (transaction_id, account, hash, at, check_at)
    SELECT id, account, ($3::text), now(), now() FROM deposit
    WHERE type = 'DEPOSIT' AND status <> 'CONFIRMED'
    ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET hash = excluded.hash, at = excluded.at,
      check_at = excluded.check_at, checks = 0, known = false, sender = NULL, nonce = NULL
    WHERE s.hash <> excluded.hash OR s.checks < 0
  )
  SELECT CASE WHEN account = ($2::text) THEN '' END AS data FROM transactions WHERE id = ($1::uuid);

-- src/features/pools/unpaid.sql.ts
-- $1 id uuid, $2 caller text, $3 hash text
PREPARE take_submission_back AS
  WITH
deposit AS MATERIALIZED (
  SELECT id, account, status, type FROM transactions WHERE id = ($1::uuid) AND account = ($2::text) FOR NO KEY UPDATE
), told AS MATERIALIZED (
    SELECT s.transaction_id AS id, s.known OR s.sender IS NOT NULL OR s.checks <= 0 AS may_come
    FROM submissions s JOIN deposit ON s.transaction_id = deposit.id
    WHERE ($3::text) IS NULL OR s.hash = ($3::text) FOR UPDATE OF s
  ), asked AS (
    UPDATE submissions s SET check_at = now(), checks = CASE s.checks WHEN 0 THEN -1 ELSE s.checks END
    FROM told WHERE s.transaction_id = told.id AND told.may_come
  ), gone AS (
    DELETE FROM submissions s USING told WHERE s.transaction_id = told.id AND NOT told.may_come
  )
  SELECT CASE WHEN account = ($2::text) THEN '' END AS data FROM transactions WHERE id = ($1::uuid);
