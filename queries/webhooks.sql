-- Named statements of webhooks. Written by `npm run generate`.

-- src/extensions/webhooks/deliveries.sql.ts
-- $1 webhooks uuid[], $2 lanes text[], $3 most integer[]
PREPARE claim_webhook_deliveries AS
WITH asked AS MATERIALIZED (
  SELECT w.id, w.url, w.status = 'UNVERIFIED' AS is_challenged,
    array_remove(ARRAY[secret, CASE WHEN previous_secret_until > now() THEN previous_secret END], NULL) AS secrets,
    CASE WHEN w.status = 'UNVERIFIED' THEN 0 ELSE a.most END AS most
  FROM unnest(($1::uuid[]), ($2::text[]), ($3::integer[])) a (id, lane, most) JOIN webhooks w ON w.id = a.id AND w.lane = a.lane
  WHERE w.due_at <= now() AND w.status <> 'DISABLED' FOR NO KEY UPDATE OF w SKIP LOCKED
), due AS MATERIALIZED (
  SELECT d.id, a.id AS webhook, a.url, a.secrets FROM asked a
  CROSS JOIN LATERAL (
    SELECT id FROM webhook_deliveries
    WHERE webhook_id = a.id AND status = 'PENDING' AND next_attempt_at <= now()
    ORDER BY next_attempt_at LIMIT a.most FOR UPDATE SKIP LOCKED) d
), taken AS (
  UPDATE webhooks SET taken_until = now() + interval '30 seconds'
  WHERE id IN (SELECT webhook FROM due)
), challenged AS (
  UPDATE webhooks SET challenge_tries = challenge_tries + 1,
    retry_at = now() + make_interval(secs => (ARRAY[30,300,0])[challenge_tries + 1])
  WHERE id IN (SELECT id FROM asked WHERE is_challenged)
), claimed AS (
  UPDATE webhook_deliveries d SET attempts = d.attempts + 1,
    next_attempt_at = now() + interval '30 seconds'
  FROM due WHERE d.id = due.id
  RETURNING d.id, d.webhook_id AS webhook, d.attempts AS attempt, due.url, due.secrets, coalesce(
    (SELECT body FROM webhook_events WHERE id = d.event_id AND d.topic <> ALL ('{reload,test}')),
    (SELECT row_to_json(n) FROM (SELECT d.event_id AS id, d.topic, iso(d.created_at) AS "occurredAt") n)::text) AS body
)
SELECT * FROM claimed
UNION ALL SELECT sorted_uuid(), id, 0, url, secrets, NULL FROM asked WHERE is_challenged;

-- src/extensions/webhooks/deliveries.sql.ts
-- $1 full text[]
PREPARE due_webhooks AS
SELECT *, date_part('epoch', now()) AS now FROM (
  SELECT DISTINCT ON (lane, owner, host) id, lane, owner, host, date_part('epoch', due_at) AS since FROM (
    SELECT w.* FROM unnest('{quick,challenge,slow}'::text[]) AS each (lane) CROSS JOIN LATERAL (
      SELECT id, lane, user_id AS owner, host, due_at
      FROM webhooks WHERE lane = each.lane AND due_at <= now() AND status <> 'DISABLED'
        AND NOT ARRAY[lane || ' user ' || user_id, lane || ' host ' || host] && ($1::text[])
      ORDER BY due_at, id LIMIT 5000) w
    WHERE each.lane <> ALL (($1::text[]))
  ) seen ORDER BY lane, owner, host, due_at, id
) first ORDER BY since, id;

-- src/extensions/webhooks/deliveries.sql.ts
-- $1 error text, $2 webhook uuid, $3 url text
PREPARE finish_webhook_challenge AS
UPDATE webhooks SET last_error = ($1::text),
  status = CASE WHEN ($1::text) IS NULL THEN 'ACTIVE' ELSE status END,
  retry_at = CASE WHEN ($1::text) IS NULL THEN '-infinity' ELSE retry_at END,
  first_event = CASE WHEN ($1::text) IS NULL THEN lpad(to_hex(outbox_xid(pg_snapshot_xmin(pg_current_snapshot()))::text::bigint), 12, '0') ELSE first_event END
WHERE id = ($2::uuid) AND url = ($3::text) AND status = 'UNVERIFIED';

-- src/extensions/webhooks/deliveries.sql.ts
-- $1 waits integer[], $2 outcomes jsonb, $3 webhook uuid, $4 slow boolean, $5 retryAfter float8, $6 url text
PREPARE finish_webhook_deliveries AS
WITH finished AS (
  UPDATE webhook_deliveries d SET last_status = r.status, last_error = r.error,
    tries = d.tries + CASE WHEN r.error IS NULL THEN 0 ELSE 1 END,
    status = CASE WHEN r.error IS NULL THEN 'DELIVERED'
      WHEN d.status = 'FAILED' OR d.topic = 'test' OR d.tries >= cardinality(($1::integer[])) THEN 'FAILED' ELSE 'PENDING' END,
    delivered_at = CASE WHEN r.error IS NULL THEN now() END,
    next_attempt_at = now() + make_interval(secs => coalesce((($1::integer[]))[d.tries + 1], 0) * (0.75 + random() / 2))
  FROM jsonb_to_recordset(($2::jsonb)) AS r (id uuid, attempt integer, status integer, error text)
  WHERE d.id = r.id AND d.attempts = r.attempt AND d.status <> 'DELIVERED'
  RETURNING r.status, r.error
), round AS (
  SELECT bool_and(error IS NULL) AS delivered, bool_and(error IS NOT NULL) AS failed, min(error) AS error,
    coalesce(bool_or(status = 410), false) AS gone
  FROM finished HAVING count(*) > 0
), next AS (
  SELECT r.error, r.gone, CASE WHEN r.delivered THEN 0 WHEN r.failed THEN w.failures + 1 ELSE 1 END AS failures,
    CASE WHEN r.delivered THEN NULL WHEN r.failed THEN coalesce(w.failing_since, now()) ELSE now() END AS since
  FROM round r JOIN webhooks w ON w.id = ($3::uuid)
)
UPDATE webhooks w SET failures = n.failures, failing_since = n.since, last_error = n.error, is_slow = ($4::boolean),
  taken_until = now(),
  retry_at = greatest(now() + make_interval(secs => ($5::float8)),
    CASE WHEN n.failures >= 2 THEN now() + make_interval(secs => least(3600, 10 * 2 ^ least(20, n.failures - 2)) * (0.75 + random() / 2)) ELSE '-infinity' END),
  status = CASE
    WHEN n.gone OR n.failures >= 5 AND n.since <= now() - interval '3 days' THEN 'DISABLED'
    WHEN n.failures >= 5 THEN 'PAUSED' ELSE 'ACTIVE' END
FROM next n WHERE w.id = ($3::uuid) AND w.url = ($6::text) AND w.status IN ('ACTIVE', 'PAUSED');

-- src/extensions/webhooks/deliveries.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_webhook_deliveries AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired webhook_deliveries', 0)) AS mine
), removed AS (
  DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM webhook_deliveries
    WHERE (SELECT mine FROM turn) AND created_at < now() - interval '7 days' AND created_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY created_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING created_at
)
SELECT count(*)::int AS removed, max(created_at)::text AS reached FROM removed;

-- src/extensions/webhooks/deliveries.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_webhook_events AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired webhook_events', 0)) AS mine
), removed AS (
  DELETE FROM webhook_events WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM webhook_events
    WHERE (SELECT mine FROM turn) AND created_at < now() - interval '8 days' AND created_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY created_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING created_at
)
SELECT count(*)::int AS removed, max(created_at)::text AS reached FROM removed;

-- src/extensions/webhooks/fan-out.sql.ts
-- $1 subject text, $2 events integer
PREPARE fan_out_to_crowd AS
  WITH taken AS MATERIALIZED (
    SELECT * FROM webhook_crowds WHERE subject = ($1::text) ORDER BY event_id LIMIT ($2::integer) FOR UPDATE SKIP LOCKED
  ), share AS MATERIALIZED (
    SELECT 200 / greatest(1, count(*)) AS most FROM taken
  ), crowd AS MATERIALIZED (
    SELECT e.event_id AS event, e.topic, w.address, w.id AS webhook FROM (
      SELECT *, CASE WHEN subject <> 'all' THEN subject::uuid END AS pool, subject = 'all' AS "isForAll"
      FROM taken OFFSET 0) e
    CROSS JOIN LATERAL (
(SELECT w.address, w.id FROM (
    SELECT r.address FROM (
SELECT m.address::text AS address FROM pool_members m WHERE m.pool_id = e.pool
UNION ALL SELECT unnest(c.account::text || c.members) FROM cancelled_pools c WHERE c.id = e.pool) r
    WHERE r.address >= e.address ORDER BY r.address OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT address, id FROM webhooks WHERE address = r.address AND (address, id) > (e.address, e.webhook)
    ORDER BY address, id OFFSET 0) w
  ORDER BY r.address, w.id LIMIT (SELECT most FROM share))
UNION ALL
(SELECT address, id FROM webhooks WHERE e."isForAll" AND (address, id) > (e.address, e.webhook)
  ORDER BY address, id LIMIT (SELECT most FROM share))) w
  ), seen AS (
    SELECT event, topic, webhook FROM crowd
  ),
wanted AS MATERIALIZED (
  SELECT s.event, s.topic, w.id AS webhook, w.pending FROM seen s JOIN webhooks w ON w.id = s.webhook
  WHERE w.status IN ('ACTIVE', 'PAUSED') AND NOT w.is_full AND s.event >= w.first_event
    AND (w.topics IS NULL OR s.topic = 'reload' OR s.topic = ANY(w.topics))
  ORDER BY w.id, s.event FOR NO KEY UPDATE OF w
), counted AS MATERIALIZED (
  SELECT *, pending + row_number() OVER (PARTITION BY webhook ORDER BY event) <= 1000 AS has_room
  FROM wanted
), added AS (
  INSERT INTO webhook_deliveries (webhook_id, event_id, topic)
  SELECT webhook, event, topic FROM counted WHERE has_room ORDER BY webhook, event
  ON CONFLICT ON CONSTRAINT webhook_deliveries_event_key DO NOTHING
), overflows AS (
  UPDATE webhooks w SET is_full = true, left_out = o.event FROM (
    SELECT webhook, min(event) AS event FROM counted c
    WHERE NOT has_room AND NOT EXISTS (
      SELECT FROM webhook_deliveries d WHERE d.webhook_id = c.webhook AND d.event_id = c.event)
    GROUP BY webhook) o
  WHERE w.id = o.webhook
), last AS MATERIALIZED (
    SELECT t.subject, t.event_id, c.address, c.webhook, coalesce(c.n, 0) < (SELECT most FROM share) AS ends
    FROM taken t LEFT JOIN (
SELECT DISTINCT ON (event) event, address, webhook, count(*) OVER (PARTITION BY event)::integer AS n FROM crowd
ORDER BY event, address DESC, webhook DESC) c ON c.event = t.event_id
  ), moved AS (
    UPDATE webhook_crowds c SET address = last.address, webhook = last.webhook FROM last
    WHERE c.subject = last.subject AND c.event_id = last.event_id AND NOT last.ends
  ), ended AS (
    DELETE FROM webhook_crowds c USING last
    WHERE c.subject = last.subject AND c.event_id = last.event_id AND last.ends
  )
  SELECT count(*)::integer AS taken FROM taken;

-- src/extensions/webhooks/fan-out.sql.ts
-- $1 events jsonb
PREPARE fan_out_to_webhooks AS
  WITH start AS MATERIALIZED (
    SELECT ''::text COLLATE "C" AS address, '00000000-0000-0000-0000-000000000000'::uuid AS webhook
  ), events AS MATERIALIZED (
    SELECT e.*, s.address, s.webhook FROM start s
    CROSS JOIN jsonb_to_recordset(($1::jsonb))
      AS e (id text, topic text, body text, "isForAll" boolean, pool uuid, account text)
    WHERE EXISTS (SELECT FROM webhooks)
  ), crowd AS MATERIALIZED (
    SELECT e.id AS event, e.topic, w.address, w.id AS webhook FROM events e
    CROSS JOIN LATERAL (
(SELECT w.address, w.id FROM (
    SELECT r.address FROM (
SELECT m.address::text AS address FROM pool_members m WHERE m.pool_id = e.pool
UNION ALL SELECT unnest(c.account::text || c.members) FROM cancelled_pools c WHERE c.id = e.pool) r
    WHERE r.address >= e.address ORDER BY r.address OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT address, id FROM webhooks WHERE address = r.address AND (address, id) > (e.address, e.webhook)
    ORDER BY address, id OFFSET 0) w
  ORDER BY r.address, w.id LIMIT 10)
UNION ALL
(SELECT address, id FROM webhooks WHERE e."isForAll" AND (address, id) > (e.address, e.webhook)
  ORDER BY address, id LIMIT 10)) w
  ), seen AS (
    SELECT event, topic, webhook FROM crowd
    UNION SELECT e.id, e.topic, w.id FROM events e
    CROSS JOIN LATERAL (SELECT id FROM webhooks WHERE address = e.account OFFSET 0) w
  ),
wanted AS MATERIALIZED (
  SELECT s.event, s.topic, w.id AS webhook, w.pending FROM seen s JOIN webhooks w ON w.id = s.webhook
  WHERE w.status IN ('ACTIVE', 'PAUSED') AND NOT w.is_full AND s.event >= w.first_event
    AND (w.topics IS NULL OR s.topic = 'reload' OR s.topic = ANY(w.topics))
  ORDER BY w.id, s.event FOR NO KEY UPDATE OF w
), counted AS MATERIALIZED (
  SELECT *, pending + row_number() OVER (PARTITION BY webhook ORDER BY event) <= 1000 AS has_room
  FROM wanted
), added AS (
  INSERT INTO webhook_deliveries (webhook_id, event_id, topic)
  SELECT webhook, event, topic FROM counted WHERE has_room ORDER BY webhook, event
  ON CONFLICT ON CONSTRAINT webhook_deliveries_event_key DO NOTHING
), overflows AS (
  UPDATE webhooks w SET is_full = true, left_out = o.event FROM (
    SELECT webhook, min(event) AS event FROM counted c
    WHERE NOT has_room AND NOT EXISTS (
      SELECT FROM webhook_deliveries d WHERE d.webhook_id = c.webhook AND d.event_id = c.event)
    GROUP BY webhook) o
  WHERE w.id = o.webhook
), crowds AS (
    INSERT INTO webhook_crowds (subject, event_id, topic, address, webhook)
    SELECT coalesce(e.pool::text, 'all'), e.id, e.topic, c.address, c.webhook
    FROM (
SELECT DISTINCT ON (event) event, address, webhook, count(*) OVER (PARTITION BY event)::integer AS n FROM crowd
ORDER BY event, address DESC, webhook DESC) c JOIN events e ON e.id = c.event WHERE c.n = 10
    ON CONFLICT ON CONSTRAINT webhook_crowds_pkey DO NOTHING RETURNING event_id
  ), bodies AS (
    INSERT INTO webhook_events (id, body) SELECT id, body FROM events
    WHERE id = ANY (ARRAY(
      SELECT DISTINCT event FROM counted WHERE has_room UNION SELECT event_id FROM crowds))
    ON CONFLICT ON CONSTRAINT webhook_events_pkey DO NOTHING
  )
  SELECT count(*)::integer AS crowds FROM crowds;

-- src/extensions/webhooks/fan-out.sql.ts
-- $1 after text
PREPARE next_webhook_crowd AS
(SELECT subject FROM webhook_crowds WHERE subject > ($1::text) ORDER BY subject LIMIT 1)
UNION ALL (SELECT subject FROM webhook_crowds ORDER BY subject LIMIT 1) LIMIT 1;

-- src/extensions/webhooks/fan-out.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_webhook_crowds AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired webhook_crowds', 0)) AS mine
), removed AS (
  DELETE FROM webhook_crowds WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM webhook_crowds
    WHERE (SELECT mine FROM turn) AND created_at < now() - interval '1 day' AND created_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY created_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING created_at
)
SELECT count(*)::int AS removed, max(created_at)::text AS reached FROM removed;
