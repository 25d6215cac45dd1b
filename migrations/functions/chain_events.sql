-- Events of draws and circles. Null fields are left out. Kinds without a topic have no event of their own: payments
-- into circles are told as such.

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

CREATE OR REPLACE FUNCTION publish_inserted_draw_events() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT 1, array_agg(block), array_agg(log), array_agg(item)
  FROM (
    SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
      "blockNumber" AS block, "logIndex" AS log
    FROM (
      SELECT draw_topic(e.kind) AS topic, iso(e.block_time) AS "occurredAt", e.draw_id AS "drawId", e.contract,
        e.tx_hash AS "txHash", e.block_number AS "blockNumber", e.log_index AS "logIndex",
        CASE WHEN e.kind IN ('TicketsIssued', 'PrizePaid', 'Refunded') THEN e.account END AS account,
        CASE WHEN e.kind IN ('PrizePaid', 'Refunded') THEN e.amount::text END AS amount,
        CASE e.kind WHEN 'TicketsIssued' THEN e.amount::text END AS tickets,
        CASE e.kind WHEN 'DrawCompleted' THEN e.account END AS winner,
        CASE e.kind WHEN 'DrawCompleted' THEN e.amount::text END AS prize,
        coalesce(e.block_number <= (SELECT finalized_number FROM chain_cursor), false) AS final
      FROM added e WHERE e.draw_id IS NOT NULL AND e.outcome = 'APPLIED' AND draw_topic(e.kind) IS NOT NULL) event
  ) numbered GROUP BY n / 1000;
  IF EXISTS (SELECT FROM added WHERE circle_id IS NOT NULL) THEN
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT 1, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
        "blockNumber" AS block, "logIndex" AS log
      FROM (
        SELECT circle_topic(e.kind) AS topic, iso(e.block_time) AS "occurredAt", e.pool_id AS "poolId",
          e.circle_id AS "circleId", e.contract, e.tx_hash AS "txHash",
          e.block_number AS "blockNumber", e.log_index AS "logIndex",
          CASE e.kind WHEN 'RoundEnded' THEN e.place END AS round,
          CASE WHEN e.kind IN ('CircleOpened', 'RoundEnded') THEN e.account END AS account,
          CASE WHEN e.kind IN ('CircleOpened', 'RoundEnded') THEN e.amount::text END AS amount,
          coalesce(e.block_number <= (SELECT finalized_number FROM chain_cursor), false) AS final
        FROM added e WHERE e.circle_id IS NOT NULL AND e.outcome = 'APPLIED' AND circle_topic(e.kind) IS NOT NULL) event
    ) numbered GROUP BY n / 1000;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION publish_updated_draw_events() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM added WHERE draw_id IS NOT NULL) THEN
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT -1, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
        "blockNumber" AS block, "logIndex" AS log
      FROM (
        SELECT 'transaction.reverted' AS topic, iso(clock_timestamp()) AS "occurredAt", draw_topic(o.kind) AS reverted,
          o.draw_id AS "drawId", o.contract, o.tx_hash AS "txHash",
          o.block_number AS "blockNumber", o.log_index AS "logIndex",
          CASE WHEN o.kind IN ('TicketsIssued', 'PrizePaid', 'Refunded') THEN o.account END AS account,
          CASE WHEN o.kind IN ('PrizePaid', 'Refunded') THEN o.amount::text END AS amount,
          CASE o.kind WHEN 'TicketsIssued' THEN o.amount::text END AS tickets,
          CASE o.kind WHEN 'DrawCompleted' THEN o.account END AS winner,
          CASE o.kind WHEN 'DrawCompleted' THEN o.amount::text END AS prize
        FROM removed o JOIN added e ON o.block_number = e.block_number AND o.log_index = e.log_index
        WHERE e.outcome <> 'APPLIED' AND o.draw_id IS NOT NULL AND o.outcome = 'APPLIED'
          AND draw_topic(o.kind) IS NOT NULL) event
    ) numbered GROUP BY n / 1000;
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT 1, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
        "blockNumber" AS block, "logIndex" AS log
      FROM (
        SELECT draw_topic(e.kind) AS topic, iso(e.block_time) AS "occurredAt", e.draw_id AS "drawId", e.contract,
          e.tx_hash AS "txHash", e.block_number AS "blockNumber", e.log_index AS "logIndex",
          CASE WHEN e.kind IN ('TicketsIssued', 'PrizePaid', 'Refunded') THEN e.account END AS account,
          CASE WHEN e.kind IN ('PrizePaid', 'Refunded') THEN e.amount::text END AS amount,
          CASE e.kind WHEN 'TicketsIssued' THEN e.amount::text END AS tickets,
          CASE e.kind WHEN 'DrawCompleted' THEN e.account END AS winner,
          CASE e.kind WHEN 'DrawCompleted' THEN e.amount::text END AS prize,
          coalesce(e.block_number <= (SELECT finalized_number FROM chain_cursor), false) AS final
        FROM added e JOIN removed o ON o.block_number = e.block_number AND o.log_index = e.log_index
        WHERE o.outcome <> 'APPLIED' AND e.draw_id IS NOT NULL AND e.outcome = 'APPLIED'
          AND draw_topic(e.kind) IS NOT NULL) event
    ) numbered GROUP BY n / 1000;
  END IF;
  IF EXISTS (SELECT FROM added WHERE circle_id IS NOT NULL) THEN
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT -1, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
        "blockNumber" AS block, "logIndex" AS log
      FROM (
        SELECT 'transaction.reverted' AS topic, iso(clock_timestamp()) AS "occurredAt",
          circle_topic(o.kind) AS reverted, o.pool_id AS "poolId", o.circle_id AS "circleId", o.contract,
          o.tx_hash AS "txHash", o.block_number AS "blockNumber", o.log_index AS "logIndex",
          CASE o.kind WHEN 'RoundEnded' THEN o.place END AS round,
          CASE WHEN o.kind IN ('CircleOpened', 'RoundEnded') THEN o.account END AS account,
          CASE WHEN o.kind IN ('CircleOpened', 'RoundEnded') THEN o.amount::text END AS amount
        FROM removed o JOIN added e ON o.block_number = e.block_number AND o.log_index = e.log_index
        WHERE e.outcome <> 'APPLIED' AND o.circle_id IS NOT NULL AND o.outcome = 'APPLIED'
          AND circle_topic(o.kind) IS NOT NULL) event
    ) numbered GROUP BY n / 1000;
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT 1, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
        "blockNumber" AS block, "logIndex" AS log
      FROM (
        SELECT circle_topic(e.kind) AS topic, iso(e.block_time) AS "occurredAt", e.pool_id AS "poolId",
          e.circle_id AS "circleId", e.contract, e.tx_hash AS "txHash",
          e.block_number AS "blockNumber", e.log_index AS "logIndex",
          CASE e.kind WHEN 'RoundEnded' THEN e.place END AS round,
          CASE WHEN e.kind IN ('CircleOpened', 'RoundEnded') THEN e.account END AS account,
          CASE WHEN e.kind IN ('CircleOpened', 'RoundEnded') THEN e.amount::text END AS amount,
          coalesce(e.block_number <= (SELECT finalized_number FROM chain_cursor), false) AS final
        FROM added e JOIN removed o ON o.block_number = e.block_number AND o.log_index = e.log_index
        WHERE o.outcome <> 'APPLIED' AND e.circle_id IS NOT NULL AND e.outcome = 'APPLIED'
          AND circle_topic(e.kind) IS NOT NULL) event
    ) numbered GROUP BY n / 1000;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION publish_deleted_draw_events() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT -1, array_agg(block), array_agg(log), array_agg(item)
  FROM (
    SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
      "blockNumber" AS block, "logIndex" AS log
    FROM (
      SELECT 'transaction.reverted' AS topic, iso(clock_timestamp()) AS "occurredAt", draw_topic(o.kind) AS reverted,
        o.draw_id AS "drawId", o.contract, o.tx_hash AS "txHash",
        o.block_number AS "blockNumber", o.log_index AS "logIndex",
        CASE WHEN o.kind IN ('TicketsIssued', 'PrizePaid', 'Refunded') THEN o.account END AS account,
        CASE WHEN o.kind IN ('PrizePaid', 'Refunded') THEN o.amount::text END AS amount,
        CASE o.kind WHEN 'TicketsIssued' THEN o.amount::text END AS tickets,
        CASE o.kind WHEN 'DrawCompleted' THEN o.account END AS winner,
        CASE o.kind WHEN 'DrawCompleted' THEN o.amount::text END AS prize
      FROM removed o WHERE o.draw_id IS NOT NULL AND o.outcome = 'APPLIED' AND draw_topic(o.kind) IS NOT NULL) event
  ) numbered GROUP BY n / 1000;
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT -1, array_agg(block), array_agg(log), array_agg(item)
  FROM (
    SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
      "blockNumber" AS block, "logIndex" AS log
    FROM (
      SELECT 'transaction.reverted' AS topic, iso(clock_timestamp()) AS "occurredAt", circle_topic(o.kind) AS reverted,
        o.pool_id AS "poolId", o.circle_id AS "circleId", o.contract, o.tx_hash AS "txHash",
        o.block_number AS "blockNumber", o.log_index AS "logIndex",
        CASE o.kind WHEN 'RoundEnded' THEN o.place END AS round,
        CASE WHEN o.kind IN ('CircleOpened', 'RoundEnded') THEN o.account END AS account,
        CASE WHEN o.kind IN ('CircleOpened', 'RoundEnded') THEN o.amount::text END AS amount
      FROM removed o WHERE o.circle_id IS NOT NULL AND o.outcome = 'APPLIED' AND circle_topic(o.kind) IS NOT NULL) event
  ) numbered GROUP BY n / 1000;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER publish_inserted_draw_events AFTER INSERT ON chain_events REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION publish_inserted_draw_events();
CREATE OR REPLACE TRIGGER publish_updated_draw_events AFTER UPDATE ON chain_events
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION publish_updated_draw_events();
CREATE OR REPLACE TRIGGER publish_deleted_draw_events AFTER DELETE ON chain_events REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_deleted_draw_events();
