-- Named statements of events. Written by `npm run generate`.

-- src/extensions/events/events.sql.ts
-- $1 digest text, $2 session jsonb
PREPARE issue_event_ticket AS
INSERT INTO event_tickets (digest, session, expires_at)
VALUES (($1::text), ($2::jsonb), now() + interval '30 seconds') RETURNING iso(expires_at) AS "expiresAt";

-- src/extensions/events/events.sql.ts
-- $1 xid text, $2 position bigint, $3 item integer, $4 most integer
PREPARE open_event_stream AS
SELECT present.xid::text, present.position::text, present.item,
  (r.xid, r.position, 0) < (($1::text)::xid8, ($2::bigint), ($3::integer)) AND ($1::text)::xid8 >= r.era
  AND (($1::text)::xid8, ($2::bigint), ($3::integer)) <= (outbox_xid(pg_snapshot_xmin(pg_current_snapshot())), 0, 0) AS usable,
  (SELECT coalesce(sum(count), 0) <= ($4::integer) FROM (
    SELECT o.count FROM outbox o WHERE (o.xid, o.position, o.count) > (($1::text)::xid8, ($2::bigint), ($3::integer)) AND o.xid < outbox_xid(pg_snapshot_xmin(pg_current_snapshot()))
    ORDER BY o.xid, o.position LIMIT ($4::integer) + 1) next) AS near
FROM outbox_removed r CROSS JOIN LATERAL (
  SELECT * FROM (
    (SELECT o.xid, o.position, o.count AS item FROM outbox o WHERE o.xid < outbox_xid(pg_snapshot_xmin(pg_current_snapshot()))
      ORDER BY o.xid DESC, o.position DESC LIMIT 1)
    UNION ALL SELECT r.xid, r.position, 65535
    UNION ALL SELECT r.era, 0, 0
  ) place ORDER BY xid DESC, position DESC, item DESC LIMIT 1) present
WHERE r.id = 1;

-- src/extensions/events/events.sql.ts
-- $1 digest text
PREPARE redeem_event_ticket AS
WITH ticket AS (
  DELETE FROM event_tickets WHERE digest = ($1::text) AND expires_at > now() RETURNING session
)
SELECT session FROM ticket
JOIN users u ON u.id = (session ->> 'userId')::uuid AND u.session_generation = (session ->> 'generation')::integer
WHERE NOT EXISTS (SELECT FROM session_endings e WHERE e.session_id = (session ->> 'sessionId')::uuid);

-- src/extensions/events/events.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_event_tickets AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired event_tickets', 0)) AS mine
), removed AS (
  DELETE FROM event_tickets WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM event_tickets
    WHERE (SELECT mine FROM turn) AND expires_at < now() AND expires_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY expires_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING expires_at
)
SELECT count(*)::int AS removed, max(expires_at)::text AS reached FROM removed;

-- src/extensions/events/readers.sql.ts
-- $1 pools uuid[], $2 addresses text[]
PREPARE readers_of_pools AS
  SELECT p.id AS pool, string_agg(r.address, ' ') AS addresses
  FROM unnest(($1::uuid[])) AS p(id) CROSS JOIN LATERAL (
SELECT m.address::text AS address FROM pool_members m WHERE m.pool_id = p.id
UNION ALL SELECT unnest(c.account::text || c.members) FROM cancelled_pools c WHERE c.id = p.id) r
  WHERE r.address = ANY(($2::text[])) GROUP BY p.id;
