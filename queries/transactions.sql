-- Named statements of transactions. Written by `npm run generate`.

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 pool uuid, $4 limit integer, $5 offset bigint
PREPARE list_pool_transactions AS
  SELECT
    CASE WHEN m."seesAll" THEN
CASE WHEN ($1::text) IS NULL THEN p.deposit_count + p.withdrawal_count + p.claim_count
  WHEN ($1::text) = 'DEPOSIT' THEN p.deposit_count WHEN ($1::text) = 'WITHDRAWAL' THEN p.withdrawal_count
  WHEN ($1::text) = 'YIELD_CLAIM' THEN p.claim_count END
      ELSE (SELECT count(*)::int FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND (($1::text) IS NULL OR type = ($1::text))) END AS total,
    list.data, list.next
  FROM
pools p CROSS JOIN LATERAL (SELECT (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($2::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($2::text))) AS "seesAll" OFFSET 0) m
LEFT JOIN LATERAL (
  SELECT * FROM
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($4::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($4::integer) THEN (array_agg(page.id ORDER BY n))[($4::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM (
  SELECT id FROM ((
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND pool_id = ($3::uuid) AND type = 'DEPOSIT' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND pool_id = ($3::uuid) AND type = 'WITHDRAWAL' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND pool_id = ($3::uuid) AND type = 'YIELD_CLAIM' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE pool_id = ($3::uuid) AND (($1::text) IS NULL OR type = ($1::text)) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND NULL::text IN ('PENDING', 'EXPIRED') AND status = NULL::text AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1)) merged
  ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1) found OFFSET ($5::bigint)) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) whole WHERE m."seesAll"
  UNION ALL
  SELECT * FROM
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($4::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($4::integer) THEN (array_agg(page.id ORDER BY n))[($4::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM (
  SELECT id FROM ((
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND type = 'DEPOSIT' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND type = 'WITHDRAWAL' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND type = 'YIELD_CLAIM' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND (($1::text) IS NULL OR type = ($1::text)) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND NULL::text IN ('PENDING', 'EXPIRED') AND status = NULL::text AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1)) merged
  ORDER BY id desc LIMIT ($4::integer) + ($5::bigint) + 1) found OFFSET ($5::bigint)) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) own WHERE NOT m."seesAll" AND EXISTS (SELECT FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE)
) list ON true
WHERE p.id = ($3::uuid);

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 limit integer, $4 offset bigint, $5 user uuid
PREPARE list_transactions AS
  WITH
memberships AS MATERIALIZED (
  SELECT p.id,
CASE WHEN ($1::text) IS NULL THEN p.deposit_count + p.withdrawal_count + p.claim_count
  WHEN ($1::text) = 'DEPOSIT' THEN p.deposit_count WHEN ($1::text) = 'WITHDRAWAL' THEN p.withdrawal_count
  WHEN ($1::text) = 'YIELD_CLAIM' THEN p.claim_count END AS count,
    p.last_deposit_id, p.last_withdrawal_id, p.last_claim_id
  FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
  WHERE NOT m.indexed AND m.role = 'MEMBER' AND m.address = ($2::text)
), candidates AS MATERIALIZED (
      SELECT id, type, first FROM (
  SELECT m.id, k.type, k.newest AS first
  FROM memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
    ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest)
  WHERE k.newest > '00000000000000000000000000000000'::uuid AND (($1::text) IS NULL OR k.type = ($1::text)) UNION ALL
  SELECT s.pool_id, k.type, s.last_id FROM (SELECT * FROM
(VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
  AS k(type, status)
WHERE (SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text)))) k CROSS JOIN LATERAL (
    SELECT pool_id, first_id, last_id FROM member_streams
    WHERE address = ($2::text) AND type = k.type AND status = k.status AND last_id > '00000000000000000000000000000000'::uuid AND last_id < 'ffffffffffffffffffffffffffffffff'::uuid ORDER BY last_id DESC LIMIT ($3::integer) + ($4::bigint) + 1) s
  WHERE (($1::text) IS NULL OR k.type = ($1::text)) AND (NULL::text IS NULL OR k.status = NULL::text)) streams
      WHERE first IS NOT NULL ORDER BY first desc LIMIT ($3::integer) + ($4::bigint) + 1
    ), farthest AS MATERIALIZED (
      SELECT coalesce((SELECT first FROM candidates OFFSET greatest(($3::integer) + ($4::bigint) + 1 - 1, 0)), '00000000000000000000000000000000'::uuid) AS id
    ), whole AS MATERIALIZED (
    SELECT (SELECT coalesce(sum(
CASE WHEN ($1::text) IS NULL THEN deposits + withdrawals + claims
  WHEN ($1::text) = 'DEPOSIT' THEN deposits WHEN ($1::text) = 'WITHDRAWAL' THEN withdrawals
  WHEN ($1::text) = 'YIELD_CLAIM' THEN claims END), 0) FROM account_days WHERE address = ($2::text))
      + (SELECT coalesce(sum(count), 0) FROM memberships) +
(SELECT coalesce(sum(count), 0) FROM member_counts WHERE address = ($2::text)
  AND CASE WHEN ($1::text) IS NULL THEN type IN ('DEPOSIT','WITHDRAWAL','YIELD_CLAIM') ELSE type = ($1::text) END) AS total
  )
  SELECT whole.total::int, list.data, list.next
  FROM whole,
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($3::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($3::integer) THEN (array_agg(page.id ORDER BY n))[($3::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (
    SELECT DISTINCT id FROM (
      (
  SELECT id FROM ((
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND owner_id = ($5::uuid) AND type = 'DEPOSIT' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND owner_id = ($5::uuid) AND type = 'WITHDRAWAL' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND owner_id = ($5::uuid) AND type = 'YIELD_CLAIM' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE owner_id = ($5::uuid) AND (($1::text) IS NULL OR type = ($1::text)) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND NULL::text IN ('PENDING', 'EXPIRED') AND status = NULL::text AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND account = ($2::text) AND NOT by_owner AND type = 'DEPOSIT' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND account = ($2::text) AND NOT by_owner AND type = 'WITHDRAWAL' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND account = ($2::text) AND NOT by_owner AND type = 'YIELD_CLAIM' AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (($1::text) IS NULL OR type = ($1::text)) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND NULL::text IN ('PENDING', 'EXPIRED') AND status = NULL::text AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1)) merged
  ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1)
      UNION ALL
      SELECT t.id FROM candidates c CROSS JOIN LATERAL ((
  SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM farthest) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND (NULL::text IS NULL OR NULL::text = 'CONFIRMED') AND (NULL::text IS NULL OR status = NULL::text) ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1) UNION ALL (
  SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM farthest) AND id > '00000000000000000000000000000000'::uuid AND id < 'ffffffffffffffffffffffffffffffff'::uuid AND NULL::text IN ('PENDING', 'EXPIRED') AND status = NULL::text AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($3::integer) + ($4::bigint) + 1)) t
    ) found WHERE (SELECT total > ($4::bigint) FROM whole)
    ORDER BY id DESC LIMIT ($3::integer) + 1 OFFSET ($4::bigint)) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) list;

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 caller text, $2 limit integer, $3 type text, $4 pool uuid, $5 above uuid, $6 below uuid, $7 status text
PREPARE pool_transactions_asc AS
SELECT list.data, list.next FROM
  pools p CROSS JOIN LATERAL (SELECT (
  EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
  OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
    WHERE o.pool_id = p.id AND o.address = ($1::text))) AS "seesAll" OFFSET 0) m
  LEFT JOIN LATERAL (
    SELECT * FROM
  (SELECT
  coalesce(json_agg(json_build_object(
  'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
  'submitted',
  CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
    FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
  CASE WHEN count(*) > ($2::integer) THEN (array_agg(page.id ORDER BY n))[($2::integer)] END AS next
   FROM (SELECT id, row_number() OVER () AS n FROM (
    SELECT id FROM ((
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'DEPOSIT') AND pool_id = ($4::uuid) AND type = 'DEPOSIT' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'WITHDRAWAL') AND pool_id = ($4::uuid) AND type = 'WITHDRAWAL' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'YIELD_CLAIM') AND pool_id = ($4::uuid) AND type = 'YIELD_CLAIM' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE pool_id = ($4::uuid) AND (($3::text) IS NULL OR type = ($3::text)) AND id > ($5::uuid) AND id < ($6::uuid) AND ($7::text) IN ('PENDING', 'EXPIRED') AND status = ($7::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT ($2::integer) + 1)) merged
    ORDER BY id asc LIMIT ($2::integer) + 1) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) whole WHERE m."seesAll"
    UNION ALL
    SELECT * FROM
  (SELECT
  coalesce(json_agg(json_build_object(
  'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
  'submitted',
  CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
    FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
  CASE WHEN count(*) > ($2::integer) THEN (array_agg(page.id ORDER BY n))[($2::integer)] END AS next
   FROM (SELECT id, row_number() OVER () AS n FROM (
    SELECT id FROM ((
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'DEPOSIT') AND account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE AND type = 'DEPOSIT' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'WITHDRAWAL') AND account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE AND type = 'WITHDRAWAL' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'YIELD_CLAIM') AND account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE AND type = 'YIELD_CLAIM' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE AND (($3::text) IS NULL OR type = ($3::text)) AND id > ($5::uuid) AND id < ($6::uuid) AND ($7::text) IN ('PENDING', 'EXPIRED') AND status = ($7::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT ($2::integer) + 1)) merged
    ORDER BY id asc LIMIT ($2::integer) + 1) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) own WHERE NOT m."seesAll" AND EXISTS (SELECT FROM transactions WHERE account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE)
  ) list ON true
  WHERE p.id = ($4::uuid);

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 caller text, $2 limit integer, $3 type text, $4 pool uuid, $5 above uuid, $6 below uuid, $7 status text
PREPARE pool_transactions_desc AS
SELECT list.data, list.next FROM
  pools p CROSS JOIN LATERAL (SELECT (
  EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
  OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
    WHERE o.pool_id = p.id AND o.address = ($1::text))) AS "seesAll" OFFSET 0) m
  LEFT JOIN LATERAL (
    SELECT * FROM
  (SELECT
  coalesce(json_agg(json_build_object(
  'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
  'submitted',
  CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
    FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
  CASE WHEN count(*) > ($2::integer) THEN (array_agg(page.id ORDER BY n))[($2::integer)] END AS next
   FROM (SELECT id, row_number() OVER () AS n FROM (
    SELECT id FROM ((
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'DEPOSIT') AND pool_id = ($4::uuid) AND type = 'DEPOSIT' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'WITHDRAWAL') AND pool_id = ($4::uuid) AND type = 'WITHDRAWAL' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'YIELD_CLAIM') AND pool_id = ($4::uuid) AND type = 'YIELD_CLAIM' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE pool_id = ($4::uuid) AND (($3::text) IS NULL OR type = ($3::text)) AND id > ($5::uuid) AND id < ($6::uuid) AND ($7::text) IN ('PENDING', 'EXPIRED') AND status = ($7::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($2::integer) + 1)) merged
    ORDER BY id desc LIMIT ($2::integer) + 1) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) whole WHERE m."seesAll"
    UNION ALL
    SELECT * FROM
  (SELECT
  coalesce(json_agg(json_build_object(
  'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
  'submitted',
  CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
    FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
  CASE WHEN count(*) > ($2::integer) THEN (array_agg(page.id ORDER BY n))[($2::integer)] END AS next
   FROM (SELECT id, row_number() OVER () AS n FROM (
    SELECT id FROM ((
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'DEPOSIT') AND account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE AND type = 'DEPOSIT' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'WITHDRAWAL') AND account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE AND type = 'WITHDRAWAL' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($3::text) IS NULL OR ($3::text) = 'YIELD_CLAIM') AND account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE AND type = 'YIELD_CLAIM' AND id > ($5::uuid) AND id < ($6::uuid) AND (($7::text) IS NULL OR ($7::text) = 'CONFIRMED') AND (($7::text) IS NULL OR status = ($7::text)) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE AND (($3::text) IS NULL OR type = ($3::text)) AND id > ($5::uuid) AND id < ($6::uuid) AND ($7::text) IN ('PENDING', 'EXPIRED') AND status = ($7::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($2::integer) + 1)) merged
    ORDER BY id desc LIMIT ($2::integer) + 1) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) own WHERE NOT m."seesAll" AND EXISTS (SELECT FROM transactions WHERE account = ($1::text) AND NOT by_owner AND (pool_id = ($4::uuid)) IS TRUE)
  ) list ON true
  WHERE p.id = ($4::uuid);

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 caller text, $2 hash text
PREPARE transaction_by_hash AS
SELECT CASE WHEN readable THEN json_build_object(
'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number,
  'confirmedAt', iso(t.confirmed_at), 'to', p.contract_address,
  'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text, 'l1Fee', t.l1_fee::text,
  'final', coalesce(t.block_number <= (SELECT finalized_number FROM chain_cursor), false))::text END AS data
FROM transactions t
JOIN pools p ON p.id = t.pool_id
CROSS JOIN LATERAL (SELECT t.account = ($1::text) OR (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = t.pool_id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = t.pool_id AND o.address = ($1::text))) AS readable) r WHERE t.tx_hash = ($2::text) ORDER BY NOT readable, t.log_index LIMIT 1;

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 caller text, $2 id uuid
PREPARE transaction_by_id AS
SELECT CASE WHEN readable THEN json_build_object(
'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number,
  'confirmedAt', iso(t.confirmed_at), 'to', p.contract_address,
  'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text, 'l1Fee', t.l1_fee::text,
  'final', coalesce(t.block_number <= (SELECT finalized_number FROM chain_cursor), false))::text END AS data
FROM transactions t
JOIN pools p ON p.id = t.pool_id
CROSS JOIN LATERAL (SELECT t.account = ($1::text) OR (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = t.pool_id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = t.pool_id AND o.address = ($1::text))) AS readable) r WHERE t.id = ($2::uuid);

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 above uuid, $4 below uuid, $5 status text, $6 limit integer, $7 user uuid
PREPARE transactions_asc AS
WITH
  memberships AS MATERIALIZED (
    SELECT p.id,
  CASE WHEN ($1::text) IS NULL THEN p.deposit_count + p.withdrawal_count + p.claim_count
    WHEN ($1::text) = 'DEPOSIT' THEN p.deposit_count WHEN ($1::text) = 'WITHDRAWAL' THEN p.withdrawal_count
    WHEN ($1::text) = 'YIELD_CLAIM' THEN p.claim_count END AS count,
      p.last_deposit_id, p.last_withdrawal_id, p.last_claim_id
    FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
    WHERE NOT m.indexed AND m.role = 'MEMBER' AND m.address = ($2::text)
  ), candidates AS MATERIALIZED (
        SELECT id, type, first FROM (
    SELECT m.id, k.type, coalesce((
    SELECT id FROM transactions WHERE pool_id = m.id AND type = k.type AND id > ($3::uuid) AND id < ($4::uuid) AND (($5::text) IS NULL OR ($5::text) = 'CONFIRMED') AND (($5::text) IS NULL OR status = ($5::text)) ORDER BY id asc LIMIT 1),(
    SELECT id FROM transactions WHERE pool_id = m.id AND type = k.type AND id > ($3::uuid) AND id < ($4::uuid) AND ($5::text) IN ('PENDING', 'EXPIRED') AND status = ($5::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT 1)) AS first
    FROM memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
      ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest)
    WHERE k.newest > ($3::uuid) AND (($1::text) IS NULL OR k.type = ($1::text)) UNION ALL
    SELECT s.pool_id, k.type, CASE WHEN s.first_id > ($3::uuid) THEN s.first_id ELSE coalesce((
    SELECT id FROM transactions WHERE pool_id = s.pool_id AND type = k.type AND id > ($3::uuid) AND id < ($4::uuid) AND (k.status IS NULL OR k.status = 'CONFIRMED') AND (k.status IS NULL OR status = k.status) ORDER BY id asc LIMIT 1),(
    SELECT id FROM transactions WHERE pool_id = s.pool_id AND type = k.type AND id > ($3::uuid) AND id < ($4::uuid) AND k.status IN ('PENDING', 'EXPIRED') AND status = k.status AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT 1)) END FROM (SELECT * FROM
  (VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
    AS k(type, status)
  WHERE (SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text)))) k CROSS JOIN LATERAL (
      SELECT pool_id, first_id, last_id FROM member_streams
      WHERE address = ($2::text) AND type = k.type AND status = k.status AND last_id > ($3::uuid) AND first_id < ($4::uuid) OFFSET 0) s
    WHERE (($1::text) IS NULL OR k.type = ($1::text)) AND (($5::text) IS NULL OR k.status = ($5::text))) streams
        WHERE first IS NOT NULL ORDER BY first asc LIMIT ($6::integer) + 1
      ), farthest AS MATERIALIZED (
        SELECT coalesce((SELECT first FROM candidates OFFSET greatest(($6::integer) + 1 - 1, 0)), 'ffffffffffffffffffffffffffffffff'::uuid) AS id
      ) SELECT data, next FROM
  (SELECT
  coalesce(json_agg(json_build_object(
  'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
  'submitted',
  CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
    FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($6::integer)), '[]')::text AS data,
  CASE WHEN count(*) > ($6::integer) THEN (array_agg(page.id ORDER BY n))[($6::integer)] END AS next
   FROM (SELECT id, row_number() OVER () AS n FROM (
      SELECT DISTINCT id FROM (
        (
    SELECT id FROM ((
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND owner_id = ($7::uuid) AND type = 'DEPOSIT' AND id > ($3::uuid) AND id < ($4::uuid) AND (($5::text) IS NULL OR ($5::text) = 'CONFIRMED') AND (($5::text) IS NULL OR status = ($5::text)) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND owner_id = ($7::uuid) AND type = 'WITHDRAWAL' AND id > ($3::uuid) AND id < ($4::uuid) AND (($5::text) IS NULL OR ($5::text) = 'CONFIRMED') AND (($5::text) IS NULL OR status = ($5::text)) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND owner_id = ($7::uuid) AND type = 'YIELD_CLAIM' AND id > ($3::uuid) AND id < ($4::uuid) AND (($5::text) IS NULL OR ($5::text) = 'CONFIRMED') AND (($5::text) IS NULL OR status = ($5::text)) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE owner_id = ($7::uuid) AND (($1::text) IS NULL OR type = ($1::text)) AND id > ($3::uuid) AND id < ($4::uuid) AND ($5::text) IN ('PENDING', 'EXPIRED') AND status = ($5::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND account = ($2::text) AND NOT by_owner AND type = 'DEPOSIT' AND id > ($3::uuid) AND id < ($4::uuid) AND (($5::text) IS NULL OR ($5::text) = 'CONFIRMED') AND (($5::text) IS NULL OR status = ($5::text)) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND account = ($2::text) AND NOT by_owner AND type = 'WITHDRAWAL' AND id > ($3::uuid) AND id < ($4::uuid) AND (($5::text) IS NULL OR ($5::text) = 'CONFIRMED') AND (($5::text) IS NULL OR status = ($5::text)) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND account = ($2::text) AND NOT by_owner AND type = 'YIELD_CLAIM' AND id > ($3::uuid) AND id < ($4::uuid) AND (($5::text) IS NULL OR ($5::text) = 'CONFIRMED') AND (($5::text) IS NULL OR status = ($5::text)) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (($1::text) IS NULL OR type = ($1::text)) AND id > ($3::uuid) AND id < ($4::uuid) AND ($5::text) IN ('PENDING', 'EXPIRED') AND status = ($5::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT ($6::integer) + 1)) merged
    ORDER BY id asc LIMIT ($6::integer) + 1)
        UNION ALL
        SELECT t.id FROM candidates c CROSS JOIN LATERAL ((
    SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id <= (SELECT id FROM farthest) AND id > ($3::uuid) AND id < ($4::uuid) AND (($5::text) IS NULL OR ($5::text) = 'CONFIRMED') AND (($5::text) IS NULL OR status = ($5::text)) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id <= (SELECT id FROM farthest) AND id > ($3::uuid) AND id < ($4::uuid) AND ($5::text) IN ('PENDING', 'EXPIRED') AND status = ($5::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT ($6::integer) + 1)) t
      ) found ORDER BY id asc LIMIT ($6::integer) + 1) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) list;

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 status text, $4 below uuid, $5 above uuid, $6 limit integer, $7 user uuid
PREPARE transactions_desc AS
WITH
  memberships AS MATERIALIZED (
    SELECT p.id,
  CASE WHEN ($1::text) IS NULL THEN p.deposit_count + p.withdrawal_count + p.claim_count
    WHEN ($1::text) = 'DEPOSIT' THEN p.deposit_count WHEN ($1::text) = 'WITHDRAWAL' THEN p.withdrawal_count
    WHEN ($1::text) = 'YIELD_CLAIM' THEN p.claim_count END AS count,
      p.last_deposit_id, p.last_withdrawal_id, p.last_claim_id
    FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
    WHERE NOT m.indexed AND m.role = 'MEMBER' AND m.address = ($2::text)
  ), candidates AS MATERIALIZED (
        SELECT id, type, first FROM (
    SELECT m.id, k.type, CASE WHEN ($3::text) IS NULL AND k.newest < ($4::uuid) THEN k.newest ELSE coalesce((
    SELECT id FROM transactions WHERE pool_id = m.id AND type = k.type AND id > ($5::uuid) AND id < ($4::uuid) AND (($3::text) IS NULL OR ($3::text) = 'CONFIRMED') AND (($3::text) IS NULL OR status = ($3::text)) ORDER BY id desc LIMIT 1),(
    SELECT id FROM transactions WHERE pool_id = m.id AND type = k.type AND id > ($5::uuid) AND id < ($4::uuid) AND ($3::text) IN ('PENDING', 'EXPIRED') AND status = ($3::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT 1)) END AS first
    FROM memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
      ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest)
    WHERE k.newest > ($5::uuid) AND (($1::text) IS NULL OR k.type = ($1::text))
      UNION ALL
    SELECT s.pool_id, k.type, s.last_id FROM (SELECT * FROM
  (VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
    AS k(type, status)
  WHERE (SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text)))) k CROSS JOIN LATERAL (
      SELECT pool_id, first_id, last_id FROM member_streams
      WHERE address = ($2::text) AND type = k.type AND status = k.status AND last_id > ($5::uuid) AND last_id < ($4::uuid) ORDER BY last_id DESC LIMIT ($6::integer) + 1) s
    WHERE (($1::text) IS NULL OR k.type = ($1::text)) AND (($3::text) IS NULL OR k.status = ($3::text))
      UNION ALL
    SELECT s.pool_id, k.type, coalesce((
    SELECT id FROM transactions WHERE pool_id = s.pool_id AND type = k.type AND id > ($5::uuid) AND id < ($4::uuid) AND (k.status IS NULL OR k.status = 'CONFIRMED') AND (k.status IS NULL OR status = k.status) ORDER BY id desc LIMIT 1),(
    SELECT id FROM transactions WHERE pool_id = s.pool_id AND type = k.type AND id > ($5::uuid) AND id < ($4::uuid) AND k.status IN ('PENDING', 'EXPIRED') AND status = k.status AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT 1)) FROM (SELECT * FROM
  (VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
    AS k(type, status)
  WHERE (SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text)))) k CROSS JOIN LATERAL (
      SELECT pool_id, first_id, last_id FROM member_streams
      WHERE address = ($2::text) AND type = k.type AND status = k.status AND last_id >= ($4::uuid) AND first_id < ($4::uuid) OFFSET 0) s
    WHERE (($1::text) IS NULL OR k.type = ($1::text)) AND (($3::text) IS NULL OR k.status = ($3::text))) streams
        WHERE first IS NOT NULL ORDER BY first desc LIMIT ($6::integer) + 1
      ), farthest AS MATERIALIZED (
        SELECT coalesce((SELECT first FROM candidates OFFSET greatest(($6::integer) + 1 - 1, 0)), '00000000000000000000000000000000'::uuid) AS id
      ) SELECT data, next FROM
  (SELECT
  coalesce(json_agg(json_build_object(
  'id', t.id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash, 'status', t.status,
  'submitted',
  CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
    FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account, 'poolId', t.pool_id, 'blockNumber', t.block_number) ORDER BY n) FILTER (WHERE n <= ($6::integer)), '[]')::text AS data,
  CASE WHEN count(*) > ($6::integer) THEN (array_agg(page.id ORDER BY n))[($6::integer)] END AS next
   FROM (SELECT id, row_number() OVER () AS n FROM (
      SELECT DISTINCT id FROM (
        (
    SELECT id FROM ((
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND owner_id = ($7::uuid) AND type = 'DEPOSIT' AND id > ($5::uuid) AND id < ($4::uuid) AND (($3::text) IS NULL OR ($3::text) = 'CONFIRMED') AND (($3::text) IS NULL OR status = ($3::text)) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND owner_id = ($7::uuid) AND type = 'WITHDRAWAL' AND id > ($5::uuid) AND id < ($4::uuid) AND (($3::text) IS NULL OR ($3::text) = 'CONFIRMED') AND (($3::text) IS NULL OR status = ($3::text)) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND owner_id = ($7::uuid) AND type = 'YIELD_CLAIM' AND id > ($5::uuid) AND id < ($4::uuid) AND (($3::text) IS NULL OR ($3::text) = 'CONFIRMED') AND (($3::text) IS NULL OR status = ($3::text)) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE owner_id = ($7::uuid) AND (($1::text) IS NULL OR type = ($1::text)) AND id > ($5::uuid) AND id < ($4::uuid) AND ($3::text) IN ('PENDING', 'EXPIRED') AND status = ($3::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND account = ($2::text) AND NOT by_owner AND type = 'DEPOSIT' AND id > ($5::uuid) AND id < ($4::uuid) AND (($3::text) IS NULL OR ($3::text) = 'CONFIRMED') AND (($3::text) IS NULL OR status = ($3::text)) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND account = ($2::text) AND NOT by_owner AND type = 'WITHDRAWAL' AND id > ($5::uuid) AND id < ($4::uuid) AND (($3::text) IS NULL OR ($3::text) = 'CONFIRMED') AND (($3::text) IS NULL OR status = ($3::text)) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND account = ($2::text) AND NOT by_owner AND type = 'YIELD_CLAIM' AND id > ($5::uuid) AND id < ($4::uuid) AND (($3::text) IS NULL OR ($3::text) = 'CONFIRMED') AND (($3::text) IS NULL OR status = ($3::text)) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (($1::text) IS NULL OR type = ($1::text)) AND id > ($5::uuid) AND id < ($4::uuid) AND ($3::text) IN ('PENDING', 'EXPIRED') AND status = ($3::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($6::integer) + 1)) merged
    ORDER BY id desc LIMIT ($6::integer) + 1)
        UNION ALL
        SELECT t.id FROM candidates c CROSS JOIN LATERAL ((
    SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM farthest) AND id > ($5::uuid) AND id < ($4::uuid) AND (($3::text) IS NULL OR ($3::text) = 'CONFIRMED') AND (($3::text) IS NULL OR status = ($3::text)) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (
    SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM farthest) AND id > ($5::uuid) AND id < ($4::uuid) AND ($3::text) IN ('PENDING', 'EXPIRED') AND status = ($3::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT ($6::integer) + 1)) t
      ) found ORDER BY id desc LIMIT ($6::integer) + 1) ordered) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) list;
