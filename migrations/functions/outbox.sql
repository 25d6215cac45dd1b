-- Triggers fill the outbox, so no writer can change the ledger without an event. They put events of the ledger into
-- outbox_staged in parts, by 64 blocks or by the thousand, because one array of all that a rewind takes back may be too large.

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

-- The cursor or a detached contract moves to a block, before events are written in the same transaction. Moving back over
-- old blocks publishes nothing either, because they come again as history.
CREATE OR REPLACE FUNCTION pass_history() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  old_time CONSTANT timestamptz := now() - interval '7 days';
  c chain_cursor;
  moved_from bigint := OLD.block_number;
  -- The last block in effect.
  was bigint;
  now_is bigint;
  first bigint;
BEGIN
  IF TG_TABLE_NAME = 'chain_cursor' THEN
    c := NEW;
    was := OLD.applied_number;
    now_is := NEW.applied_number;
  ELSE
    SELECT * INTO c FROM chain_cursor;
    -- A contract that is set apart moves back from the cursor.
    moved_from := coalesce(moved_from, c.block_number);
    was := moved_from;
    now_is := NEW.block_number;
  END IF;
  first := c.published_from;
  IF NEW.block_time < old_time AND NEW.block_number < c.head_number - 64 THEN
    first := greatest(first, NEW.block_number + 1, CASE WHEN NEW.block_number < moved_from THEN (
      SELECT e.block_number + 1 FROM chain_events e WHERE e.block_time < old_time ORDER BY e.block_number DESC LIMIT 1) END);
  END IF;
  IF first > 0 AND least(was, now_is) < first THEN
    PERFORM set_config('savings.published_from', first::text, true);
    IF now_is >= first THEN
      INSERT INTO outbox (count, items) VALUES (1, json_build_array(json_build_object(
        'topic', 'reload', 'occurredAt', iso(clock_timestamp()), 'publishedFrom', first)));
    END IF;
  END IF;
  IF TG_TABLE_NAME = 'chain_cursor' THEN
    NEW.published_from := first;
  ELSE
    UPDATE chain_cursor SET published_from = first WHERE published_from < first;
  END IF;
  RETURN NEW;
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

CREATE OR REPLACE TRIGGER cursor_moving BEFORE UPDATE OF block_number ON chain_cursor
  FOR EACH ROW EXECUTE FUNCTION pass_history();
CREATE OR REPLACE TRIGGER contract_apart_moving BEFORE INSERT OR UPDATE OF block_number ON chain_contracts_apart
  FOR EACH ROW EXECUTE FUNCTION pass_history();

-- PostgreSQL replaces no constraint trigger. To change it, drop it here first.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'publish_staged' AND tgrelid = 'outbox_staged'::regclass) THEN
    CREATE CONSTRAINT TRIGGER publish_staged AFTER INSERT ON outbox_staged DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION publish_staged();
  END IF;
END $$;
