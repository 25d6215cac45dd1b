-- Named statements of outbox. Written by `npm run generate`.

-- src/ledger/outbox/outbox.sql.ts
-- $1 name text, $2 fromNow boolean
PREPARE add_outbox_consumer AS
INSERT INTO outbox_consumers (name, xid, position, item)
VALUES (($1::text), CASE WHEN ($2::boolean) THEN outbox_xid(pg_snapshot_xmin(pg_current_snapshot())) ELSE '0' END, 0, 0)
ON CONFLICT ON CONSTRAINT outbox_consumers_pkey DO NOTHING;

-- src/ledger/outbox/outbox.sql.ts
-- $1 name text
PREPARE due_outbox_consumer AS
SELECT greatest(0, date_part('epoch', now() - next.created_at)) AS lag,
  (coalesce(next.readable, false) OR EXISTS (SELECT FROM outbox_set_aside s WHERE s.consumer = ($1::text) AND s.again)) AND c.held_until <= now() AND c.retry_at <= now()
    AS due
FROM outbox_consumers c
LEFT JOIN LATERAL (
  SELECT o.created_at, o.xid < outbox_xid(pg_snapshot_xmin(pg_current_snapshot())) AS readable FROM outbox o
  WHERE (o.xid, o.position, o.count) > (c.xid, c.position, c.item) ORDER BY o.xid, o.position LIMIT 1) next ON true
WHERE c.name = ($1::text);

-- src/ledger/outbox/outbox.sql.ts
-- $1 after text, $2 batch integer
PREPARE end_holding_readers AS
SELECT end_holding_readers() AS removed, ($1::text) AS reached, ($2::integer) IS NULL AS more;

-- src/ledger/outbox/outbox.sql.ts
-- $1 holder uuid, $2 name text
PREPARE hold_outbox_consumer AS
UPDATE outbox_consumers SET holder = ($1::uuid), held_until = now() + make_interval(secs => 15)
WHERE name = ($2::text) AND held_until <= now() AND retry_at <= now()
RETURNING xid::text, position::text, item, failures,
  coalesce(date_part('epoch', now() - failing_since), 0) AS "failingSeconds", EXISTS (SELECT FROM outbox_set_aside s WHERE s.consumer = ($2::text) AND s.again) AS "askedAgain",
  (xid, position) < (SELECT r.xid, r.position FROM outbox_removed r WHERE r.id = 1) AS missed;

-- src/ledger/outbox/outbox.sql.ts
-- $1 xid text, $2 position bigint, $3 item integer, $4 failures integer, $5 seconds float8, $6 wait float8, $7 name text, $8 holder uuid
PREPARE move_outbox_consumer AS
UPDATE outbox_consumers SET xid = ($1::text)::xid8, position = ($2::bigint), item = ($3::integer), failures = ($4::integer),
  failing_since = CASE WHEN ($4::integer) = 0 THEN NULL WHEN ($4::integer) < failures THEN now()
    ELSE coalesce(failing_since, now()) END,
  holder = CASE WHEN ($5::float8) > 0 THEN holder END, held_until = now() + make_interval(secs => ($5::float8)),
  retry_at = now() + make_interval(secs => ($6::float8))
WHERE name = ($7::text) AND holder = ($8::uuid) RETURNING name;

-- src/ledger/outbox/outbox.sql.ts
-- $1 name text, $2 id text, $3 error text
PREPARE outbox_event_tried_again AS
WITH done AS (
  DELETE FROM outbox_set_aside WHERE consumer = ($1::text) AND event_id = ($2::text) AND ($3::text) IS NULL
)
UPDATE outbox_set_aside SET again = false, error = ($3::text)
WHERE consumer = ($1::text) AND event_id = ($2::text) AND ($3::text) IS NOT NULL;

-- src/ledger/outbox/outbox.sql.ts
-- $1 xid text, $2 position bigint, $3 item integer
PREPARE read_outbox AS
SELECT xid::text, position::text, count, items FROM (
  SELECT *, sum(count) OVER (ORDER BY xid, position) - count AS before FROM (
    SELECT o.* FROM outbox o WHERE (o.xid, o.position, o.count) > (($1::text)::xid8, ($2::bigint), ($3::integer)) AND o.xid < outbox_xid(pg_snapshot_xmin(pg_current_snapshot()))
    ORDER BY o.xid, o.position LIMIT 200
  ) next
) next WHERE before < 1000 ORDER BY next.xid, next.position;

-- src/ledger/outbox/outbox.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_outbox_set_aside AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired outbox_set_aside', 0)) AS mine
), removed AS (
  DELETE FROM outbox_set_aside WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM outbox_set_aside
    WHERE (SELECT mine FROM turn) AND created_at < now() - interval '7 days' AND created_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY created_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING created_at
)
SELECT count(*)::int AS removed, max(created_at)::text AS reached FROM removed;

-- src/ledger/outbox/outbox.sql.ts
-- $1 after text, $2 batch integer
PREPARE remove_old_events AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired outbox', 0)) AS mine
), oldest AS MATERIALIZED (
  SELECT xid, position, created_at < now() - interval '7 days' AS expired,
    sum(count) OVER (ORDER BY xid, position) - count AS before
  FROM (
    SELECT * FROM outbox WHERE (SELECT mine FROM turn) AND xid >= coalesce(($1::text), '0')::xid8
    ORDER BY xid, position LIMIT ($2::integer)) first
), removed AS (
  DELETE FROM outbox o USING oldest
  WHERE o.xid = oldest.xid AND o.position = oldest.position AND oldest.expired AND oldest.before < 100000
  RETURNING o.xid, o.position
), last AS (
  SELECT xid, position FROM removed ORDER BY xid DESC, position DESC LIMIT 1
), mark AS (
  UPDATE outbox_removed r SET xid = last.xid, position = last.position FROM last
  WHERE r.id = 1 AND (r.xid, r.position) < (last.xid, last.position)
)
SELECT (SELECT count(*)::int FROM removed) AS removed, (SELECT xid::text FROM last) AS reached;

-- src/ledger/outbox/outbox.sql.ts
-- $1 name text
PREPARE set_aside_events_asked_again AS
SELECT event FROM outbox_set_aside WHERE consumer = ($1::text) AND again ORDER BY event_id LIMIT 100;

-- src/ledger/outbox/outbox.sql.ts
-- $1 xid text, $2 position bigint, $3 item integer, $4 failures integer, $5 seconds float8, $6 wait float8, $7 name text, $8 holder uuid, $9 id text, $10 event text, $11 error text
PREPARE set_outbox_event_aside AS
WITH moved AS (
UPDATE outbox_consumers SET xid = ($1::text)::xid8, position = ($2::bigint), item = ($3::integer), failures = ($4::integer),
  failing_since = CASE WHEN ($4::integer) = 0 THEN NULL WHEN ($4::integer) < failures THEN now()
    ELSE coalesce(failing_since, now()) END,
  holder = CASE WHEN ($5::float8) > 0 THEN holder END, held_until = now() + make_interval(secs => ($5::float8)),
  retry_at = now() + make_interval(secs => ($6::float8))
WHERE name = ($7::text) AND holder = ($8::uuid) RETURNING name), stored AS (
  INSERT INTO outbox_set_aside (consumer, event_id, event, error) SELECT name, ($9::text), ($10::text)::json, ($11::text)
  FROM moved
  ON CONFLICT ON CONSTRAINT outbox_set_aside_pkey DO UPDATE SET error = excluded.error
)
SELECT name FROM moved;
