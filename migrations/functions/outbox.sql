-- Triggers fill the outbox, so no writer can change the ledger without an event. They put events of the ledger into
-- outbox_staged, by the thousand, because one array of all that a rewind takes back may be too large. The end of the
-- transaction publishes them in the order of the chain, whatever tables they came from.

-- Publishes what the transaction has staged: what the chain says in its order, and what it takes back newest first. A
-- transaction that does both, one after the other, publishes both in that order. What has no place on the chain
-- follows from what was staged before it, and comes behind that.
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
