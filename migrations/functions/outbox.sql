-- Triggers fill the outbox, so no writer can change the ledger without an event. They put events of the ledger into
-- outbox_staged, by the thousand, because one array of all that a rewind takes back may be too large.

-- Publishes at its end what the transaction has staged, from all tables: what the chain says in its order, what it takes
-- back newest first, and what has no place on the chain behind what was staged before it.
CREATE OR REPLACE FUNCTION publish_staged() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  -- The first of the transaction's rows has published them all.
  IF NOT EXISTS (SELECT FROM outbox_staged WHERE xid = NEW.xid AND position = NEW.position) THEN
    RETURN NULL;
  END IF;
  WITH staged AS (
    DELETE FROM outbox_staged WHERE xid = NEW.xid RETURNING *
  ), turns AS (
    SELECT *, direction <> 0 AND direction IS DISTINCT FROM
      lag(direction) OVER (PARTITION BY direction = 0 ORDER BY position) AS turns
    FROM staged
  ), runs AS (
    SELECT *, count(*) FILTER (WHERE turns) OVER (ORDER BY position) AS run FROM turns
  )
  INSERT INTO outbox (count, items)
  SELECT count(*), json_agg(item ORDER BY n) FROM (
    SELECT item, row_number() OVER (
      ORDER BY run, direction = 0, direction * block, direction * log, position, place) - 1 AS n
    FROM runs CROSS JOIN LATERAL unnest(blocks, logs, items) WITH ORDINALITY AS e(block, log, item, place)
  ) sorted GROUP BY n / 1000 ORDER BY n / 1000;
  RETURN NULL;
END $$;

-- History: blocks that were older than seven days, the time that events are kept, when the indexer read them. Their
-- events are not published one by one. One `reload` announces them all as soon as they are in effect. The last 64 blocks
-- of the chain are never history, so events of a chain with wrong block times are published too.

-- Call it when the cursor, or a detached contract, moves to a block of time `at`, and the last block in effect from `was` to
-- `now_is`, before events are written in the same transaction. Returns the first block whose events are published. Moving
-- back over old blocks publishes nothing either, because they come again as history.
CREATE OR REPLACE FUNCTION pass_history(
  known bigint, moved_from bigint, moved_to bigint, at timestamptz, head bigint, was bigint, now_is bigint)
RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  old CONSTANT timestamptz := now() - interval '7 days';
  first bigint := known;
BEGIN
  IF at < old AND moved_to < head - 64 THEN
    first := greatest(known, moved_to + 1, CASE WHEN moved_to < moved_from THEN (SELECT e.block_number + 1
      FROM chain_events e WHERE e.block_time < old ORDER BY e.block_number DESC LIMIT 1) END);
  END IF;
  IF first > 0 AND least(was, now_is) < first THEN
    PERFORM set_config('savings.published_from', first::text, true);
    IF now_is >= first THEN
      INSERT INTO outbox (count, items) VALUES (1, json_build_array(json_build_object(
        'topic', 'reload', 'occurredAt', iso(clock_timestamp()), 'publishedFrom', first)));
    END IF;
  END IF;
  RETURN first;
END $$;

-- The first block whose events this transaction publishes. Anyone may set it, so it counts only for a role that may
-- move the cursor.
CREATE OR REPLACE FUNCTION published_from() RETURNS bigint LANGUAGE plpgsql STABLE
SET search_path = public, pg_temp AS $$
DECLARE
  first CONSTANT text := nullif(current_setting('savings.published_from', true), '');
BEGIN
  IF first IS NULL OR NOT has_table_privilege(session_user, 'chain_cursor', 'UPDATE') THEN
    RETURN 0;
  END IF;
  RETURN first;
END $$;

CREATE OR REPLACE FUNCTION cursor_moving() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  NEW.published_from := pass_history(NEW.published_from, OLD.block_number, NEW.block_number, NEW.block_time,
    NEW.head_number, OLD.applied_number, NEW.applied_number);
  RETURN NEW;
END $$;

-- A contract that is set apart moves back from the cursor.
CREATE OR REPLACE FUNCTION contract_apart_moving() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  c chain_cursor;
  moved_from bigint;
  first bigint;
BEGIN
  SELECT * INTO c FROM chain_cursor;
  moved_from := CASE TG_OP WHEN 'UPDATE' THEN OLD.block_number ELSE c.block_number END;
  first := pass_history(c.published_from, moved_from, NEW.block_number, NEW.block_time, c.head_number,
    moved_from, NEW.block_number);
  UPDATE chain_cursor SET published_from = first WHERE published_from < first;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER cursor_moving BEFORE UPDATE OF block_number ON chain_cursor
  FOR EACH ROW EXECUTE FUNCTION cursor_moving();
CREATE OR REPLACE TRIGGER contract_apart_moving BEFORE INSERT OR UPDATE OF block_number ON chain_contracts_apart
  FOR EACH ROW EXECUTE FUNCTION contract_apart_moving();

CREATE OR REPLACE FUNCTION publish_pools() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox (count, items)
  SELECT count(*), json_agg(event ORDER BY n)
  FROM (SELECT row_number() OVER () - 1 AS n, event FROM (
    SELECT 'pool.created' AS topic, iso(p.created_at) AS "occurredAt", p.id AS "poolId",
      p.contract_address AS contract, u.address AS account
    FROM added p JOIN users u ON u.id = p.owner_id) event) numbered
  GROUP BY n / 1000 ORDER BY n / 1000;
  RETURN NULL;
END $$;

-- PostgreSQL replaces no constraint trigger. To change it, drop it here first.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'publish_staged' AND tgrelid = 'outbox_staged'::regclass) THEN
    CREATE CONSTRAINT TRIGGER publish_staged AFTER INSERT ON outbox_staged DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION publish_staged();
  END IF;
END $$;

CREATE OR REPLACE TRIGGER publish_pools AFTER INSERT ON pools REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT WHEN (creating() IS NOT TRUE) EXECUTE FUNCTION publish_pools();

DROP FUNCTION IF EXISTS end_of_history, pass_history(bigint, bigint, bigint);
