-- Named statements of access. Written by `npm run generate`.

-- src/features/access/sessions.sql.ts
-- $1 user uuid
PREPARE end_all_sessions AS
UPDATE users SET session_generation = session_generation + 1 WHERE id = ($1::uuid);

-- src/features/access/sessions.sql.ts
-- $1 sessionId uuid, $2 user uuid, $3 exp float8
PREPARE end_session AS
INSERT INTO session_endings (session_id, user_id, expires_at) VALUES (($1::uuid), ($2::uuid), to_timestamp(($3::float8)))
ON CONFLICT ON CONSTRAINT session_endings_session_id_key DO NOTHING;

-- src/features/access/sessions.sql.ts
-- $1 snapshot text
PREPARE look_for_endings AS
SELECT pg_current_snapshot()::text AS snapshot, pg_is_in_recovery() AS standby, coalesce((
  SELECT json_agg(json_build_object('sessionId', session_id, 'userId', user_id)) FROM (
    SELECT session_id, user_id FROM session_endings
    WHERE xact >= pg_snapshot_xmin(($1::text)::pg_snapshot)
      AND NOT pg_visible_in_snapshot(xact, ($1::text)::pg_snapshot)
    LIMIT 5001) unseen), '[]') AS endings;

-- src/features/access/sessions.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_session_endings AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired session_endings', 0)) AS mine
), removed AS (
  DELETE FROM session_endings WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM session_endings
    WHERE (SELECT mine FROM turn) AND expires_at < now() - interval '1 hour' AND expires_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY expires_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING expires_at
)
SELECT count(*)::int AS removed, max(expires_at)::text AS reached FROM removed;

-- src/features/access/sessions.sql.ts
-- $1 user uuid, $2 generation integer, $3 sessionId uuid
PREPARE session_lives AS
SELECT true AS lives FROM users
WHERE id = ($1::uuid) AND session_generation = ($2::integer)
  AND NOT EXISTS (SELECT FROM session_endings WHERE session_id = ($3::uuid));

-- src/features/access/sign-in.sql.ts
-- $1 nonce text, $2 address text
PREPARE find_nonce AS
SELECT true AS found FROM nonces
WHERE nonce = ($1::text) AND expires_at > now() AND (address IS NULL OR address = ($2::text));

-- src/features/access/sign-in.sql.ts
-- $1 nonces text[], $2 addresses text[]
PREPARE issue_nonces AS
INSERT INTO nonces (nonce, address, expires_at)
SELECT nonce, address, now() + make_interval(secs => 600)
FROM unnest(($1::text[]), ($2::text[])) AS n (nonce, address);

-- src/features/access/sign-in.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_nonces AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired nonces', 0)) AS mine
), removed AS (
  DELETE FROM nonces WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM nonces
    WHERE (SELECT mine FROM turn) AND expires_at < now() AND expires_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY expires_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING expires_at
)
SELECT count(*)::int AS removed, max(expires_at)::text AS reached FROM removed;

-- src/features/access/sign-in.sql.ts
-- $1 nonces text[], $2 addresses text[], $3 newIds uuid[]
PREPARE sign_in AS
WITH call AS MATERIALIZED (
  SELECT * FROM unnest(($1::text[]), ($2::text[]), ($3::uuid[])) AS c (nonce, address, id)
), locked AS MATERIALIZED (
  SELECT ctid FROM nonces WHERE nonce = ANY (($1::text[])) AND expires_at > now()
    AND (address IS NULL OR (nonce, address) IN (SELECT nonce, address FROM call))
  ORDER BY nonce FOR UPDATE
), used AS (
  DELETE FROM nonces WHERE ctid = ANY (ARRAY(SELECT ctid FROM locked)) RETURNING nonce, address
), valid AS MATERIALIZED (
  SELECT DISTINCT ON (nonce) call.id, call.address FROM used JOIN call USING (nonce)
  WHERE used.address IS NULL OR used.address = call.address ORDER BY nonce
), known AS MATERIALIZED (
  SELECT u.id, u.address, u.created_at, u.session_generation FROM valid JOIN users u USING (address)
  WHERE NOT u.has_left
), added AS (
  INSERT INTO users (id, address, created_at)
  SELECT DISTINCT ON (address) id, address, now() FROM valid
  WHERE address NOT IN (SELECT known.address FROM known) ORDER BY address
  ON CONFLICT ON CONSTRAINT users_address_key DO UPDATE SET address = excluded.address,
    has_left = false, created_at = CASE WHEN users.has_left THEN excluded.created_at ELSE users.created_at END
  RETURNING id, address, created_at, session_generation
)
SELECT valid.id AS "signIn", u.id, u.address, iso(u.created_at) AS "createdAt", u.session_generation AS generation
FROM valid JOIN (SELECT DISTINCT * FROM known UNION ALL SELECT * FROM added) u USING (address);
