-- Events of draws and circles. Null fields are left out. Kinds without a topic have no event of their own: payments
-- into circles have those of payments.

-- Made from the events, not from lottery_draws: a reorganisation rewrites the rows of its draws, though most of their
-- content stays the same.
CREATE OR REPLACE FUNCTION draw_topic(kind text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE kind WHEN 'TicketsIssued' THEN 'tickets.issued' WHEN 'DrawOpened' THEN 'draw.opened'
    WHEN 'DrawClosed' THEN 'draw.closed' WHEN 'DrawCompleted' THEN 'draw.completed'
    WHEN 'DrawCancelled' THEN 'draw.cancelled' WHEN 'PrizePaid' THEN 'prize.paid'
    WHEN 'Refunded' THEN 'draw.refunded' END
$$;

CREATE OR REPLACE FUNCTION circle_topic(kind text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE kind WHEN 'CircleOpened' THEN 'circle.opened' WHEN 'CircleStarted' THEN 'circle.started'
    WHEN 'RoundEnded' THEN 'circle.round_ended'
    WHEN 'CircleCompleted' THEN 'circle.completed' WHEN 'CircleCancelled' THEN 'circle.cancelled' END
$$;

-- The event of a log: that it was applied (1) or is taken back (-1); null: it has none.
CREATE OR REPLACE FUNCTION chain_event(e chain_events, direction integer, final boolean) RETURNS json LANGUAGE sql AS $$
  SELECT json_strip_nulls(json_build_object(
    'topic', CASE direction WHEN 1 THEN topic ELSE 'transaction.reverted' END,
    'occurredAt', iso(CASE direction WHEN 1 THEN e.block_time ELSE clock_timestamp() END),
    'reverted', CASE direction WHEN -1 THEN topic END, 'drawId', e.draw_id,
    'poolId', CASE WHEN e.circle_id IS NOT NULL THEN e.pool_id END, 'circleId', e.circle_id, 'contract', e.contract,
    'txHash', e.tx_hash, 'blockNumber', e.block_number, 'logIndex', e.log_index,
    'round', CASE e.kind WHEN 'RoundEnded' THEN e.place END,
    'account', CASE WHEN e.kind IN ('TicketsIssued', 'PrizePaid', 'Refunded', 'CircleOpened', 'RoundEnded')
      THEN e.account END,
    'amount', CASE WHEN e.kind IN ('PrizePaid', 'Refunded', 'CircleOpened', 'RoundEnded') THEN e.amount::text END,
    'tickets', CASE e.kind WHEN 'TicketsIssued' THEN e.amount::text END,
    'winner', CASE e.kind WHEN 'DrawCompleted' THEN e.account END,
    'prize', CASE e.kind WHEN 'DrawCompleted' THEN e.amount::text END,
    'final', CASE direction WHEN 1 THEN final END))
  FROM (SELECT CASE WHEN e.draw_id IS NOT NULL THEN draw_topic(e.kind) ELSE circle_topic(e.kind) END) AS t (topic)
  WHERE topic IS NOT NULL AND e.outcome = 'APPLIED'
$$;

CREATE OR REPLACE FUNCTION publish_chain_events() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
  finalized CONSTANT bigint := coalesce((SELECT finalized_number FROM chain_cursor), -1);
  first CONSTANT bigint := published_from();
BEGIN
  IF NOT EXISTS (SELECT FROM changed
    WHERE block_number >= first AND (draw_id IS NOT NULL OR circle_id IS NOT NULL)) THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    -- What was is taken back before what is.
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT direction, array_agg(block_number), array_agg(log_index), array_agg(event)
    -- A full join, as in transactions.sql. It stays one only if the conditions could hold for a row without a partner.
    FROM former o FULL JOIN changed e USING (block_number, log_index) CROSS JOIN LATERAL (
      VALUES (-1, chain_event(o, -1, NULL)), (1, chain_event(e, 1, block_number <= finalized))) AS v (direction, event)
    WHERE block_number >= first AND event IS NOT NULL AND coalesce((o.outcome = 'APPLIED') <> (e.outcome = 'APPLIED')
      AND (e.draw_id IS NOT NULL OR e.circle_id IS NOT NULL), false)
    GROUP BY direction, block_number / 64 ORDER BY direction;
  ELSE
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT sign, array_agg(block_number), array_agg(log_index), array_agg(event)
    FROM changed e CROSS JOIN LATERAL chain_event(e, sign, block_number <= finalized) AS event
    WHERE block_number >= first AND (draw_id IS NOT NULL OR circle_id IS NOT NULL) AND event IS NOT NULL
    GROUP BY block_number / 64;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER publish_inserted_draw_events AFTER INSERT ON chain_events
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION publish_chain_events();
CREATE OR REPLACE TRIGGER publish_updated_draw_events AFTER UPDATE ON chain_events
  REFERENCING NEW TABLE AS changed OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION publish_chain_events();
CREATE OR REPLACE TRIGGER publish_deleted_draw_events AFTER DELETE ON chain_events
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION publish_chain_events();
