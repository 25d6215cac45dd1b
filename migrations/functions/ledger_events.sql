-- Events of transactions and accruals. `final`: whether no reorganisation can take it back any more, as of now. The
-- cursor is read once for a statement.

CREATE OR REPLACE FUNCTION publish_inserted_transactions() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT 1, array_agg(block), array_agg(log), array_agg(item)
  FROM (
    SELECT row_number() OVER () - 1 AS n, to_json(event) AS item,
      "blockNumber" AS block, "logIndex" AS log
    FROM (
      SELECT CASE r.type WHEN 'DEPOSIT' THEN 'deposit.confirmed'
          WHEN 'WITHDRAWAL' THEN 'withdrawal.confirmed' WHEN 'YIELD_CLAIM' THEN 'yield.claimed' END AS topic,
        iso(coalesce(r.confirmed_at, r.created_at)) AS "occurredAt",
        r.pool_id AS "poolId", r.id AS "transactionId",
        r.type AS "transactionType", r.tx_hash AS "txHash", r.block_number AS "blockNumber",
        r.log_index AS "logIndex", r.account, r.amount::text AS amount,
        coalesce(r.block_number <= (SELECT finalized_number FROM chain_cursor), false) AS final
      FROM added r WHERE r.status = 'CONFIRMED') event
  ) numbered GROUP BY n / 1000;
  RETURN NULL;
END $$;

-- An event about a transaction that is taken back shows it as it was.
CREATE OR REPLACE FUNCTION publish_updated_transactions() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  -- Most updates only fill in gas.
  IF EXISTS (SELECT FROM added r JOIN removed o ON o.id = r.id WHERE r.status <> o.status) THEN
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT -1, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, to_json(event) AS item,
        "blockNumber" AS block, "logIndex" AS log
      FROM (
        SELECT 'transaction.reverted' AS topic, iso(clock_timestamp()) AS "occurredAt",
          CASE o.type WHEN 'DEPOSIT' THEN 'deposit.confirmed'
            WHEN 'WITHDRAWAL' THEN 'withdrawal.confirmed' WHEN 'YIELD_CLAIM' THEN 'yield.claimed' END AS reverted,
          o.pool_id AS "poolId", o.id AS "transactionId",
          o.type AS "transactionType", o.tx_hash AS "txHash", o.block_number AS "blockNumber",
          o.log_index AS "logIndex", o.account, o.amount::text AS amount
        FROM added r JOIN removed o ON o.id = r.id WHERE r.status = 'PENDING' AND o.status = 'CONFIRMED') event
    ) numbered GROUP BY n / 1000;
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT 0, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
        NULL::bigint AS block, NULL::bigint AS log
      FROM (
        SELECT 'transaction.reverted' AS topic, iso(clock_timestamp()) AS "occurredAt", 'deposit.expired' AS reverted,
          o.pool_id AS "poolId", o.id AS "transactionId",
          o.type AS "transactionType", o.tx_hash AS "txHash", o.block_number AS "blockNumber",
          o.log_index AS "logIndex", o.account, o.amount::text AS amount
        FROM added r JOIN removed o ON o.id = r.id WHERE r.status = 'PENDING' AND o.status = 'EXPIRED') event
    ) numbered GROUP BY n / 1000;
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT 1, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, to_json(event) AS item,
        "blockNumber" AS block, "logIndex" AS log
      FROM (
        SELECT CASE r.type WHEN 'DEPOSIT' THEN 'deposit.confirmed'
            WHEN 'WITHDRAWAL' THEN 'withdrawal.confirmed' WHEN 'YIELD_CLAIM' THEN 'yield.claimed' END AS topic,
          iso(coalesce(r.confirmed_at, r.created_at)) AS "occurredAt",
          r.pool_id AS "poolId", r.id AS "transactionId",
          r.type AS "transactionType", r.tx_hash AS "txHash", r.block_number AS "blockNumber",
          r.log_index AS "logIndex", r.account, r.amount::text AS amount,
          coalesce(r.block_number <= (SELECT finalized_number FROM chain_cursor), false) AS final
        FROM added r JOIN removed o ON o.id = r.id WHERE r.status = 'CONFIRMED' AND o.status <> r.status) event
    ) numbered GROUP BY n / 1000;
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT 0, array_agg(block), array_agg(log), array_agg(item)
    FROM (
      SELECT row_number() OVER () - 1 AS n, json_strip_nulls(to_json(event)) AS item,
        NULL::bigint AS block, NULL::bigint AS log
      FROM (
        SELECT 'deposit.expired' AS topic, iso(clock_timestamp()) AS "occurredAt", r.pool_id AS "poolId",
          r.id AS "transactionId",
          r.type AS "transactionType", r.tx_hash AS "txHash", r.block_number AS "blockNumber",
          r.log_index AS "logIndex", r.account, r.amount::text AS amount
        FROM added r JOIN removed o ON o.id = r.id WHERE r.status = 'EXPIRED' AND o.status = 'PENDING') event
    ) numbered GROUP BY n / 1000;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION publish_deleted_transactions() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT -1, array_agg(block), array_agg(log), array_agg(item)
  FROM (
    SELECT row_number() OVER () - 1 AS n, to_json(event) AS item,
      "blockNumber" AS block, "logIndex" AS log
    FROM (
      SELECT 'transaction.reverted' AS topic, iso(clock_timestamp()) AS "occurredAt",
        CASE o.type WHEN 'DEPOSIT' THEN 'deposit.confirmed'
          WHEN 'WITHDRAWAL' THEN 'withdrawal.confirmed' WHEN 'YIELD_CLAIM' THEN 'yield.claimed' END AS reverted,
        o.pool_id AS "poolId", o.id AS "transactionId",
        o.type AS "transactionType", o.tx_hash AS "txHash", o.block_number AS "blockNumber",
        o.log_index AS "logIndex", o.account, o.amount::text AS amount
      FROM removed o WHERE o.status = 'CONFIRMED') event
  ) numbered GROUP BY n / 1000;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION publish_accruals() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT 1, array_agg(block), array_agg(log), array_agg(item)
  FROM (
    SELECT row_number() OVER () - 1 AS n, to_json(event) AS item,
      "blockNumber" AS block, "logIndex" AS log
    FROM (
      SELECT 'yield.accrued' AS topic, iso(y.accrued_at) AS "occurredAt", y.pool_id AS "poolId",
        y.block_number AS "blockNumber", y.log_index AS "logIndex", y.amount::text AS amount,
        coalesce(y.block_number <= (SELECT finalized_number FROM chain_cursor), false) AS final
      FROM added y) event
  ) numbered GROUP BY n / 1000;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION publish_deleted_accruals() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT -1, array_agg(block), array_agg(log), array_agg(item)
  FROM (
    SELECT row_number() OVER () - 1 AS n, to_json(event) AS item,
      "blockNumber" AS block, "logIndex" AS log
    FROM (
      SELECT 'transaction.reverted' AS topic, iso(clock_timestamp()) AS "occurredAt", 'yield.accrued' AS reverted,
        y.pool_id AS "poolId", y.block_number AS "blockNumber", y.log_index AS "logIndex", y.amount::text AS amount
      FROM removed y) event
  ) numbered GROUP BY n / 1000;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER publish_inserted_transactions AFTER INSERT ON transactions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT WHEN (creating() IS NOT TRUE) EXECUTE FUNCTION publish_inserted_transactions();
CREATE OR REPLACE TRIGGER publish_updated_transactions AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT
  EXECUTE FUNCTION publish_updated_transactions();
CREATE OR REPLACE TRIGGER publish_deleted_transactions AFTER DELETE ON transactions REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_deleted_transactions();
CREATE OR REPLACE TRIGGER publish_accruals AFTER INSERT ON yield_accruals REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION publish_accruals();
CREATE OR REPLACE TRIGGER publish_deleted_accruals AFTER DELETE ON yield_accruals REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_deleted_accruals();
