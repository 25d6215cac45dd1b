-- Makes a restored database safe to serve. A restore takes back what was committed after its moment, but not what
-- clients were told: ids of events, tokens, and nonces that were used. Both numbers that it sets come from the clock, so
-- that a second restore, to an earlier moment, repeats none either.
CREATE OR REPLACE FUNCTION after_restore() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  first_id bigint;
BEGIN
  LOCK TABLE outbox, outbox_consumers, outbox_removed, users, session_endings, nonces, event_tickets
    IN SHARE ROW EXCLUSIVE MODE;
  -- 2^16 ids for each second since 1970: more transactions than a server ever has. Ids of events have 48 bits.
  SELECT greatest(65536 * floor(extract(epoch FROM clock_timestamp()))::bigint, 1 + max(xid::text::bigint))
    INTO first_id
  FROM (
    SELECT max(xid) AS xid FROM outbox UNION ALL SELECT max(xid) FROM outbox_consumers
    UNION ALL SELECT greatest(r.xid, r.era) FROM outbox_removed r) used;
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION outbox_xid(xid8) RETURNS xid8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS %L',
    format('SELECT ($1::text::bigint + %s)::text::xid8',
      first_id - pg_snapshot_xmin(pg_current_snapshot())::text::bigint));
  UPDATE outbox_removed SET era = first_id::text::xid8;
  UPDATE outbox_consumers SET holder = NULL, held_until = '-infinity';

  -- A nonce or ticket may have been used, and a session ended, after the moment.
  DELETE FROM nonces;
  DELETE FROM event_tickets;
  UPDATE users SET session_generation =
    greatest(session_generation + 1, floor(extract(epoch FROM clock_timestamp()) / 60)::integer);
  DELETE FROM session_endings;
  INSERT INTO session_endings (expires_at) VALUES (now());
END $$;
COMMENT ON FUNCTION after_restore IS
  'Call once after every restore, of files or of a dump, before the service starts: ends all sessions, removes '
  'nonces, and gives events ids that were never given out';
