-- Named statements of transactions. Written by `npm run generate`.

-- src/features/transactions/deep-transactions.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 offset bigint, $4 limit bigint, $5 user uuid
PREPARE list_deep_transactions AS
  WITH
memberships AS MATERIALIZED (
  SELECT p.id,
CASE WHEN ($1::text) IS NULL THEN p.deposit_count + p.withdrawal_count + p.claim_count
  WHEN ($1::text) = 'DEPOSIT' THEN p.deposit_count WHEN ($1::text) = 'WITHDRAWAL' THEN p.withdrawal_count
  WHEN ($1::text) = 'YIELD_CLAIM' THEN p.claim_count END AS count,
    p.last_deposit_id, p.last_withdrawal_id, p.last_claim_id
  FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
  WHERE NOT m.indexed AND m.role = 'MEMBER' AND m.address = ($2::text)
),
  own_days AS MATERIALIZED (
    SELECT day, sum(
CASE WHEN ($1::text) IS NULL THEN deposits + withdrawals + claims
  WHEN ($1::text) = 'DEPOSIT' THEN deposits WHEN ($1::text) = 'WITHDRAWAL' THEN withdrawals
  WHEN ($1::text) = 'YIELD_CLAIM' THEN claims END) AS count
    FROM account_days WHERE address = ($2::text) GROUP BY day
  ),
  whole AS MATERIALIZED (
    SELECT ((SELECT coalesce(sum(count), 0) FROM own_days) +
((SELECT coalesce(sum(count), 0) FROM memberships) +
(SELECT coalesce(sum(count), 0) FROM member_counts WHERE address = ($2::text)
  AND CASE WHEN ($1::text) IS NULL THEN type IN ('DEPOSIT','WITHDRAWAL','YIELD_CLAIM') ELSE type = ($1::text) END)))::bigint AS total
  ),
  reach AS MATERIALIZED (
    SELECT CASE WHEN total > ($3::bigint) THEN ($4::bigint) + ($3::bigint) ELSE 0 END AS rows FROM whole
  ),
candidates AS MATERIALIZED (
  SELECT id, type, newest FROM (
    SELECT m.id, k.type, k.newest FROM
memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
  ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest) WHERE k.newest IS NOT NULL AND (($1::text) IS NULL OR k.type = ($1::text))
    UNION ALL
    SELECT s.pool_id, k.type, s.last_id FROM
(VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
  AS k(type, status) CROSS JOIN LATERAL (
      SELECT pool_id, last_id FROM member_streams
      WHERE address = ($2::text) AND type = k.type AND status = k.status ORDER BY last_id DESC LIMIT (SELECT rows FROM reach)) s
    WHERE
(SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text))) AND (($1::text) IS NULL OR k.type = ($1::text))
  ) streams ORDER BY newest DESC LIMIT (SELECT rows FROM reach)
),
oldest AS MATERIALIZED (
  SELECT coalesce((SELECT newest FROM candidates OFFSET greatest((SELECT rows FROM reach) - 1, 0)), '00000000000000000000000000000000'::uuid) AS id
),
  member_ids AS MATERIALIZED (SELECT DISTINCT id FROM (
SELECT t.id FROM candidates c CROSS JOIN LATERAL (
  SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM oldest)
  ORDER BY id DESC LIMIT (SELECT rows FROM reach)) t) found),
  ends AS MATERIALIZED (
    SELECT array_agg((lpad(to_hex(extract(epoch FROM day + 1)::bigint * 1000), 12, '0') || repeat('0', 20))::uuid
      ORDER BY day) AS ids FROM own_days
  ),
  page_start AS MATERIALIZED (
    SELECT ids[n] AS below, newer FROM (
      SELECT n, sum(own) OVER newest_first - own + sum(others) OVER newest_first AS newer FROM (
        SELECT n, sum(own) AS own, sum(others) AS others FROM (
          SELECT row_number() OVER (ORDER BY day)::int AS n, count AS own, 0 AS others FROM own_days
          UNION ALL
          SELECT width_bucket(id, ids), 0, count(*) FROM member_ids, ends WHERE ids IS NOT NULL GROUP BY 1
        ) parts GROUP BY n
      ) days WINDOW newest_first AS (ORDER BY n DESC)
    ) days, ends WHERE n > 0 AND newer <= ($3::bigint) ORDER BY n LIMIT 1
  ),
  start AS MATERIALIZED (
    SELECT coalesce((SELECT below FROM page_start), 'ffffffffffffffffffffffffffffffff'::uuid) AS below,
      ($3::bigint) - coalesce((SELECT newer FROM page_start), 0)::bigint AS skipped
  )
  SELECT whole.total::int, list.data, list.last
  FROM whole,
(SELECT coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account)), '[]')::text AS data, (array_agg(t.id))[count(*)] AS last
 FROM (
    SELECT DISTINCT id FROM (
      (
SELECT id FROM (
    (SELECT id FROM transactions WHERE owner_id = ($5::uuid) AND id < (SELECT below FROM start) AND type = 'DEPOSIT' AND (($1::text) IS NULL OR ($1::text) = 'DEPOSIT')
     ORDER BY id DESC LIMIT (SELECT ($4::bigint) + skipped FROM start, whole WHERE total > ($3::bigint) UNION ALL SELECT 0 LIMIT 1)) UNION ALL
    (SELECT id FROM transactions WHERE owner_id = ($5::uuid) AND id < (SELECT below FROM start) AND type = 'WITHDRAWAL' AND (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL')
     ORDER BY id DESC LIMIT (SELECT ($4::bigint) + skipped FROM start, whole WHERE total > ($3::bigint) UNION ALL SELECT 0 LIMIT 1)) UNION ALL
    (SELECT id FROM transactions WHERE owner_id = ($5::uuid) AND id < (SELECT below FROM start) AND type = 'YIELD_CLAIM' AND (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM')
     ORDER BY id DESC LIMIT (SELECT ($4::bigint) + skipped FROM start, whole WHERE total > ($3::bigint) UNION ALL SELECT 0 LIMIT 1)) UNION ALL
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND id < (SELECT below FROM start) AND type = 'DEPOSIT' AND (($1::text) IS NULL OR ($1::text) = 'DEPOSIT')
     ORDER BY id DESC LIMIT (SELECT ($4::bigint) + skipped FROM start, whole WHERE total > ($3::bigint) UNION ALL SELECT 0 LIMIT 1)) UNION ALL
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND id < (SELECT below FROM start) AND type = 'WITHDRAWAL' AND (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL')
     ORDER BY id DESC LIMIT (SELECT ($4::bigint) + skipped FROM start, whole WHERE total > ($3::bigint) UNION ALL SELECT 0 LIMIT 1)) UNION ALL
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND id < (SELECT below FROM start) AND type = 'YIELD_CLAIM' AND (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM')
     ORDER BY id DESC LIMIT (SELECT ($4::bigint) + skipped FROM start, whole WHERE total > ($3::bigint) UNION ALL SELECT 0 LIMIT 1))) merged
ORDER BY id DESC LIMIT (SELECT ($4::bigint) + skipped FROM start, whole WHERE total > ($3::bigint) UNION ALL SELECT 0 LIMIT 1))
      UNION ALL
      SELECT id FROM member_ids WHERE id < (SELECT below FROM start)
    ) found ORDER BY id DESC LIMIT ($4::bigint) OFFSET (SELECT skipped FROM start)) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) list;

-- src/features/transactions/transactions-after.sql.ts, on standbys where there are some
-- $1 caller text, $2 limit integer, $3 type text, $4 status text, $5 pool uuid, $6 above uuid, $7 below uuid
PREPARE pool_transactions_asc AS
SELECT list.data, list.next
FROM
pools p CROSS JOIN LATERAL (SELECT (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($1::text))) AS "seesAll" OFFSET 0) m
LEFT JOIN LATERAL (
  SELECT * FROM
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($2::integer) THEN (array_agg(page.id ORDER BY n))[($2::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM (
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'DEPOSIT') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND pool_id = ($5::uuid) AND type = 'DEPOSIT' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'WITHDRAWAL') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND pool_id = ($5::uuid) AND type = 'WITHDRAWAL' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'YIELD_CLAIM') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND pool_id = ($5::uuid) AND type = 'YIELD_CLAIM' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL (SELECT id FROM transactions
    WHERE ($4::text) IN ('PENDING', 'EXPIRED') AND pool_id = ($5::uuid) AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') AND (($3::text) IS NULL OR type = ($3::text))
      AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id asc LIMIT ($2::integer) + 1)) merged ORDER BY id asc LIMIT ($2::integer) + 1) ordered) page
 JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) whole WHERE m."seesAll"
  UNION ALL
  SELECT * FROM
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($2::integer) THEN (array_agg(page.id ORDER BY n))[($2::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM (
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'DEPOSIT') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE AND type = 'DEPOSIT' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'WITHDRAWAL') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE AND type = 'WITHDRAWAL' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'YIELD_CLAIM') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE AND type = 'YIELD_CLAIM' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id asc LIMIT ($2::integer) + 1) UNION ALL (SELECT id FROM transactions
    WHERE ($4::text) IN ('PENDING', 'EXPIRED') AND account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') AND (($3::text) IS NULL OR type = ($3::text))
      AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id asc LIMIT ($2::integer) + 1)) merged ORDER BY id asc LIMIT ($2::integer) + 1) ordered) page
 JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) own WHERE NOT m."seesAll" AND EXISTS (SELECT FROM transactions WHERE account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE)
) list ON true
WHERE p.id = ($5::uuid);

-- src/features/transactions/transactions-after.sql.ts, on standbys where there are some
-- $1 caller text, $2 limit integer, $3 type text, $4 status text, $5 pool uuid, $6 above uuid, $7 below uuid
PREPARE pool_transactions_desc AS
SELECT list.data, list.next
FROM
pools p CROSS JOIN LATERAL (SELECT (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($1::text))) AS "seesAll" OFFSET 0) m
LEFT JOIN LATERAL (
  SELECT * FROM
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($2::integer) THEN (array_agg(page.id ORDER BY n))[($2::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM (
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'DEPOSIT') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND pool_id = ($5::uuid) AND type = 'DEPOSIT' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'WITHDRAWAL') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND pool_id = ($5::uuid) AND type = 'WITHDRAWAL' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'YIELD_CLAIM') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND pool_id = ($5::uuid) AND type = 'YIELD_CLAIM' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL (SELECT id FROM transactions
    WHERE ($4::text) IN ('PENDING', 'EXPIRED') AND pool_id = ($5::uuid) AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') AND (($3::text) IS NULL OR type = ($3::text))
      AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id desc LIMIT ($2::integer) + 1)) merged ORDER BY id desc LIMIT ($2::integer) + 1) ordered) page
 JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) whole WHERE m."seesAll"
  UNION ALL
  SELECT * FROM
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account) ORDER BY n) FILTER (WHERE n <= ($2::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($2::integer) THEN (array_agg(page.id ORDER BY n))[($2::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM (
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'DEPOSIT') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE AND type = 'DEPOSIT' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'WITHDRAWAL') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE AND type = 'WITHDRAWAL' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($3::text) IS NULL OR ($3::text) = 'YIELD_CLAIM') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE AND type = 'YIELD_CLAIM' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id desc LIMIT ($2::integer) + 1) UNION ALL (SELECT id FROM transactions
    WHERE ($4::text) IN ('PENDING', 'EXPIRED') AND account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') AND (($3::text) IS NULL OR type = ($3::text))
      AND id > ($6::uuid) AND id < ($7::uuid) ORDER BY id desc LIMIT ($2::integer) + 1)) merged ORDER BY id desc LIMIT ($2::integer) + 1) ordered) page
 JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) own WHERE NOT m."seesAll" AND EXISTS (SELECT FROM transactions WHERE account = ($1::text) AND NOT by_owner AND (pool_id = ($5::uuid)) IS TRUE)
) list ON true
WHERE p.id = ($5::uuid);

-- src/features/transactions/transactions-after.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 above uuid, $4 status text, $5 below uuid, $6 limit integer, $7 user uuid
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
  SELECT id, type, nearest FROM (
SELECT m.id, k.type, CASE WHEN k.newest IS NULL OR k.newest <= ($3::uuid) THEN NULL

  ELSE CASE WHEN ($4::text) IN ('PENDING', 'EXPIRED') THEN (SELECT id FROM transactions WHERE pool_id = m.id AND type = k.type AND id > ($3::uuid) AND id < ($5::uuid)  AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT 1) ELSE (SELECT id FROM transactions WHERE pool_id = m.id AND type = k.type AND id > ($3::uuid) AND id < ($5::uuid)  AND (($4::text) IS NULL OR status = ($4::text)) ORDER BY id asc LIMIT 1) END END AS nearest
FROM
memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
  ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest) WHERE (($1::text) IS NULL OR k.type = ($1::text)) UNION ALL
  SELECT s.pool_id, k.type, CASE WHEN s.first_id > ($3::uuid) THEN s.first_id ELSE CASE WHEN k.status IN ('PENDING', 'EXPIRED') THEN (SELECT id FROM transactions WHERE pool_id = s.pool_id AND type = k.type AND id > ($3::uuid) AND id < ($5::uuid)  AND status = k.status AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc LIMIT 1) ELSE (SELECT id FROM transactions WHERE pool_id = s.pool_id AND type = k.type AND id > ($3::uuid) AND id < ($5::uuid)  AND (k.status IS NULL OR status = k.status) ORDER BY id asc LIMIT 1) END END AS nearest FROM
(VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
  AS k(type, status) CROSS JOIN LATERAL (
    SELECT pool_id, first_id, last_id FROM member_streams WHERE address = ($2::text) AND type = k.type AND status = k.status AND last_id > ($3::uuid) AND first_id < ($5::uuid) OFFSET 0) s WHERE
(SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text))) AND (($1::text) IS NULL OR k.type = ($1::text)) AND (($4::text) IS NULL OR k.status = ($4::text))) streams
  WHERE nearest IS NOT NULL ORDER BY nearest asc LIMIT ($6::integer) + 1
), farthest AS MATERIALIZED (
  SELECT coalesce((SELECT nearest FROM candidates OFFSET ($6::integer)), 'ffffffffffffffffffffffffffffffff'::uuid) AS id
)
SELECT data, next FROM
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account) ORDER BY n) FILTER (WHERE n <= ($6::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($6::integer) THEN (array_agg(page.id ORDER BY n))[($6::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (
  SELECT DISTINCT id FROM (
    (SELECT id FROM (
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND owner_id = ($7::uuid) AND type = 'DEPOSIT' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND owner_id = ($7::uuid) AND type = 'WITHDRAWAL' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND owner_id = ($7::uuid) AND type = 'YIELD_CLAIM' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (SELECT id FROM transactions
    WHERE ($4::text) IN ('PENDING', 'EXPIRED') AND owner_id = ($7::uuid) AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') AND (($1::text) IS NULL OR type = ($1::text))
      AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($2::text) AND NOT by_owner AND type = 'DEPOSIT' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($2::text) AND NOT by_owner AND type = 'WITHDRAWAL' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($2::text) AND NOT by_owner AND type = 'YIELD_CLAIM' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id asc LIMIT ($6::integer) + 1) UNION ALL (SELECT id FROM transactions
    WHERE ($4::text) IN ('PENDING', 'EXPIRED') AND account = ($2::text) AND NOT by_owner AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') AND (($1::text) IS NULL OR type = ($1::text))
      AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id asc LIMIT ($6::integer) + 1)) merged ORDER BY id asc LIMIT ($6::integer) + 1)
    UNION ALL
    SELECT t.id FROM candidates c CROSS JOIN LATERAL (
  (SELECT id FROM (SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id > ($3::uuid) AND id < ($5::uuid) AND id <= (SELECT id FROM farthest) AND (($4::text) IS NULL OR status = ($4::text)) ORDER BY id asc) x WHERE ($4::text) IS NULL OR ($4::text) = 'CONFIRMED' LIMIT ($6::integer) + 1)
  UNION ALL
  (SELECT id FROM (SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id > ($3::uuid) AND id < ($5::uuid) AND id <= (SELECT id FROM farthest) AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id asc) x WHERE ($4::text) IN ('PENDING', 'EXPIRED') LIMIT ($6::integer) + 1)) t
  ) found ORDER BY id asc LIMIT ($6::integer) + 1) ordered) page
 JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) list;

-- src/features/transactions/transactions-after.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 above uuid, $4 status text, $5 below uuid, $6 limit integer, $7 user uuid
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
  SELECT id, type, nearest FROM (
SELECT m.id, k.type, CASE WHEN k.newest IS NULL OR k.newest <= ($3::uuid) THEN NULL
  WHEN ($4::text) IS NULL AND k.newest < ($5::uuid) THEN k.newest
  ELSE CASE WHEN ($4::text) IN ('PENDING', 'EXPIRED') THEN (SELECT id FROM transactions WHERE pool_id = m.id AND type = k.type AND id > ($3::uuid) AND id < ($5::uuid)  AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT 1) ELSE (SELECT id FROM transactions WHERE pool_id = m.id AND type = k.type AND id > ($3::uuid) AND id < ($5::uuid)  AND (($4::text) IS NULL OR status = ($4::text)) ORDER BY id desc LIMIT 1) END END AS nearest
FROM
memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
  ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest) WHERE (($1::text) IS NULL OR k.type = ($1::text)) UNION ALL
  SELECT s.pool_id, k.type, s.last_id FROM
(VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
  AS k(type, status) CROSS JOIN LATERAL (
    SELECT pool_id, first_id, last_id FROM member_streams WHERE address = ($2::text) AND type = k.type AND status = k.status AND last_id > ($3::uuid) AND last_id < ($5::uuid) ORDER BY last_id DESC LIMIT ($6::integer) + 1) s WHERE
(SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text))) AND (($1::text) IS NULL OR k.type = ($1::text)) AND (($4::text) IS NULL OR k.status = ($4::text))
  UNION ALL
  SELECT s.pool_id, k.type, CASE WHEN k.status IN ('PENDING', 'EXPIRED') THEN (SELECT id FROM transactions WHERE pool_id = s.pool_id AND type = k.type AND id > ($3::uuid) AND id < ($5::uuid)  AND status = k.status AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc LIMIT 1) ELSE (SELECT id FROM transactions WHERE pool_id = s.pool_id AND type = k.type AND id > ($3::uuid) AND id < ($5::uuid)  AND (k.status IS NULL OR status = k.status) ORDER BY id desc LIMIT 1) END FROM
(VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
  AS k(type, status) CROSS JOIN LATERAL (
    SELECT pool_id, first_id, last_id FROM member_streams WHERE address = ($2::text) AND type = k.type AND status = k.status AND last_id >= ($5::uuid) AND first_id < ($5::uuid) OFFSET 0) s WHERE
(SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text))) AND (($1::text) IS NULL OR k.type = ($1::text)) AND (($4::text) IS NULL OR k.status = ($4::text))) streams
  WHERE nearest IS NOT NULL ORDER BY nearest desc LIMIT ($6::integer) + 1
), farthest AS MATERIALIZED (
  SELECT coalesce((SELECT nearest FROM candidates OFFSET ($6::integer)), '00000000000000000000000000000000'::uuid) AS id
)
SELECT data, next FROM
(SELECT
coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account) ORDER BY n) FILTER (WHERE n <= ($6::integer)), '[]')::text AS data,
CASE WHEN count(*) > ($6::integer) THEN (array_agg(page.id ORDER BY n))[($6::integer)] END AS next
 FROM (SELECT id, row_number() OVER () AS n FROM (
  SELECT DISTINCT id FROM (
    (SELECT id FROM (
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND owner_id = ($7::uuid) AND type = 'DEPOSIT' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND owner_id = ($7::uuid) AND type = 'WITHDRAWAL' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND owner_id = ($7::uuid) AND type = 'YIELD_CLAIM' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (SELECT id FROM transactions
    WHERE ($4::text) IN ('PENDING', 'EXPIRED') AND owner_id = ($7::uuid) AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') AND (($1::text) IS NULL OR type = ($1::text))
      AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'DEPOSIT') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($2::text) AND NOT by_owner AND type = 'DEPOSIT' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($2::text) AND NOT by_owner AND type = 'WITHDRAWAL' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL
      (SELECT id FROM transactions
       WHERE (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM') AND (($4::text) IS NULL OR ($4::text) = 'CONFIRMED')
         AND account = ($2::text) AND NOT by_owner AND type = 'YIELD_CLAIM' AND (($4::text) IS NULL OR status = ($4::text)) AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id desc LIMIT ($6::integer) + 1) UNION ALL (SELECT id FROM transactions
    WHERE ($4::text) IN ('PENDING', 'EXPIRED') AND account = ($2::text) AND NOT by_owner AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') AND (($1::text) IS NULL OR type = ($1::text))
      AND id > ($3::uuid) AND id < ($5::uuid) ORDER BY id desc LIMIT ($6::integer) + 1)) merged ORDER BY id desc LIMIT ($6::integer) + 1)
    UNION ALL
    SELECT t.id FROM candidates c CROSS JOIN LATERAL (
  (SELECT id FROM (SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id > ($3::uuid) AND id < ($5::uuid) AND id >= (SELECT id FROM farthest) AND (($4::text) IS NULL OR status = ($4::text)) ORDER BY id desc) x WHERE ($4::text) IS NULL OR ($4::text) = 'CONFIRMED' LIMIT ($6::integer) + 1)
  UNION ALL
  (SELECT id FROM (SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id > ($3::uuid) AND id < ($5::uuid) AND id >= (SELECT id FROM farthest) AND status = ($4::text) AND status IN ('PENDING', 'EXPIRED') ORDER BY id desc) x WHERE ($4::text) IN ('PENDING', 'EXPIRED') LIMIT ($6::integer) + 1)) t
  ) found ORDER BY id desc LIMIT ($6::integer) + 1) ordered) page
 JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) list;

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 pool uuid, $4 limit bigint, $5 offset bigint
PREPARE list_pool_transactions AS
  SELECT
    CASE WHEN m."seesAll" THEN
CASE WHEN ($1::text) IS NULL THEN p.deposit_count + p.withdrawal_count + p.claim_count
  WHEN ($1::text) = 'DEPOSIT' THEN p.deposit_count WHEN ($1::text) = 'WITHDRAWAL' THEN p.withdrawal_count
  WHEN ($1::text) = 'YIELD_CLAIM' THEN p.claim_count END
      ELSE (SELECT count(*)::int FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND (($1::text) IS NULL OR type = ($1::text))) END AS total,
    list.data, list.last
  FROM
pools p CROSS JOIN LATERAL (SELECT (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($2::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($2::text))) AS "seesAll" OFFSET 0) m
LEFT JOIN LATERAL (
  SELECT * FROM
(SELECT coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account)), '[]')::text AS data, (array_agg(t.id))[count(*)] AS last
 FROM (SELECT id FROM (
SELECT id FROM (
    (SELECT id FROM transactions WHERE pool_id = ($3::uuid) AND type = 'DEPOSIT' AND (($1::text) IS NULL OR ($1::text) = 'DEPOSIT')
     ORDER BY id DESC LIMIT ($4::bigint) + ($5::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE pool_id = ($3::uuid) AND type = 'WITHDRAWAL' AND (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL')
     ORDER BY id DESC LIMIT ($4::bigint) + ($5::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE pool_id = ($3::uuid) AND type = 'YIELD_CLAIM' AND (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM')
     ORDER BY id DESC LIMIT ($4::bigint) + ($5::bigint))) merged
ORDER BY id DESC LIMIT ($4::bigint) + ($5::bigint)) found OFFSET ($5::bigint)) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) whole WHERE m."seesAll"
  UNION ALL
  SELECT * FROM
(SELECT coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account)), '[]')::text AS data, (array_agg(t.id))[count(*)] AS last
 FROM (SELECT id FROM (
SELECT id FROM (
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND type = 'DEPOSIT' AND (($1::text) IS NULL OR ($1::text) = 'DEPOSIT')
     ORDER BY id DESC LIMIT ($4::bigint) + ($5::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND type = 'WITHDRAWAL' AND (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL')
     ORDER BY id DESC LIMIT ($4::bigint) + ($5::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE AND type = 'YIELD_CLAIM' AND (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM')
     ORDER BY id DESC LIMIT ($4::bigint) + ($5::bigint))) merged
ORDER BY id DESC LIMIT ($4::bigint) + ($5::bigint)) found OFFSET ($5::bigint)) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) own WHERE NOT m."seesAll" AND EXISTS (SELECT FROM transactions WHERE account = ($2::text) AND NOT by_owner AND (pool_id = ($3::uuid)) IS TRUE)
) list ON true
WHERE p.id = ($3::uuid);

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 type text, $2 caller text, $3 limit bigint, $4 offset bigint, $5 user uuid
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
),
candidates AS MATERIALIZED (
  SELECT id, type, newest FROM (
    SELECT m.id, k.type, k.newest FROM
memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
  ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest) WHERE k.newest IS NOT NULL AND (($1::text) IS NULL OR k.type = ($1::text))
    UNION ALL
    SELECT s.pool_id, k.type, s.last_id FROM
(VALUES ('DEPOSIT', 'PENDING'),('DEPOSIT', 'CONFIRMED'),('DEPOSIT', 'EXPIRED'),('WITHDRAWAL', 'PENDING'),('WITHDRAWAL', 'CONFIRMED'),('WITHDRAWAL', 'EXPIRED'),('YIELD_CLAIM', 'PENDING'),('YIELD_CLAIM', 'CONFIRMED'),('YIELD_CLAIM', 'EXPIRED'))
  AS k(type, status) CROSS JOIN LATERAL (
      SELECT pool_id, last_id FROM member_streams
      WHERE address = ($2::text) AND type = k.type AND status = k.status ORDER BY last_id DESC LIMIT ($3::bigint) + ($4::bigint)) s
    WHERE
(SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = ($2::text))) AND (($1::text) IS NULL OR k.type = ($1::text))
  ) streams ORDER BY newest DESC LIMIT ($3::bigint) + ($4::bigint)
),
oldest AS MATERIALIZED (
  SELECT coalesce((SELECT newest FROM candidates OFFSET greatest(($3::bigint) + ($4::bigint) - 1, 0)), '00000000000000000000000000000000'::uuid) AS id
)
  SELECT (
      (SELECT coalesce(sum(
CASE WHEN ($1::text) IS NULL THEN deposits + withdrawals + claims
  WHEN ($1::text) = 'DEPOSIT' THEN deposits WHEN ($1::text) = 'WITHDRAWAL' THEN withdrawals
  WHEN ($1::text) = 'YIELD_CLAIM' THEN claims END), 0) FROM account_days WHERE address = ($2::text))
      +
((SELECT coalesce(sum(count), 0) FROM memberships) +
(SELECT coalesce(sum(count), 0) FROM member_counts WHERE address = ($2::text)
  AND CASE WHEN ($1::text) IS NULL THEN type IN ('DEPOSIT','WITHDRAWAL','YIELD_CLAIM') ELSE type = ($1::text) END)))::int AS total,
    list.data, list.last
  FROM
(SELECT coalesce(json_agg(json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account)), '[]')::text AS data, (array_agg(t.id))[count(*)] AS last
 FROM (
      SELECT DISTINCT id FROM (
        (
SELECT id FROM (
    (SELECT id FROM transactions WHERE owner_id = ($5::uuid) AND type = 'DEPOSIT' AND (($1::text) IS NULL OR ($1::text) = 'DEPOSIT')
     ORDER BY id DESC LIMIT ($3::bigint) + ($4::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE owner_id = ($5::uuid) AND type = 'WITHDRAWAL' AND (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL')
     ORDER BY id DESC LIMIT ($3::bigint) + ($4::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE owner_id = ($5::uuid) AND type = 'YIELD_CLAIM' AND (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM')
     ORDER BY id DESC LIMIT ($3::bigint) + ($4::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND type = 'DEPOSIT' AND (($1::text) IS NULL OR ($1::text) = 'DEPOSIT')
     ORDER BY id DESC LIMIT ($3::bigint) + ($4::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND type = 'WITHDRAWAL' AND (($1::text) IS NULL OR ($1::text) = 'WITHDRAWAL')
     ORDER BY id DESC LIMIT ($3::bigint) + ($4::bigint)) UNION ALL
    (SELECT id FROM transactions WHERE account = ($2::text) AND NOT by_owner AND type = 'YIELD_CLAIM' AND (($1::text) IS NULL OR ($1::text) = 'YIELD_CLAIM')
     ORDER BY id DESC LIMIT ($3::bigint) + ($4::bigint))) merged
ORDER BY id DESC LIMIT ($3::bigint) + ($4::bigint))
        UNION ALL

SELECT t.id FROM candidates c CROSS JOIN LATERAL (
  SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM oldest)
  ORDER BY id DESC LIMIT ($3::bigint) + ($4::bigint)) t
      ) found ORDER BY id DESC LIMIT ($3::bigint) OFFSET ($4::bigint)) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true) list;

-- src/features/transactions/transactions.sql.ts, on standbys where there are some
-- $1 caller text, $2 hash text
PREPARE transaction_by_hash AS
SELECT CASE WHEN readable THEN json_build_object(
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account,
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
'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
'blockNumber', t.block_number, 'status', t.status,
'submitted',
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END, 'createdAt', iso(t.created_at), 'from', t.account,
  'confirmedAt', iso(t.confirmed_at), 'to', p.contract_address,
  'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text, 'l1Fee', t.l1_fee::text,
  'final', coalesce(t.block_number <= (SELECT finalized_number FROM chain_cursor), false))::text END AS data
FROM transactions t
JOIN pools p ON p.id = t.pool_id
CROSS JOIN LATERAL (SELECT t.account = ($1::text) OR (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = t.pool_id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = t.pool_id AND o.address = ($1::text))) AS readable) r WHERE t.id = ($2::uuid);
