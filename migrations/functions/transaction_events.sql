-- Events of transactions. `final`: whether no reorganisation can take it back any more, as of now. The cursor is read once
-- for a statement.

CREATE OR REPLACE FUNCTION transaction_topic(type text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE type WHEN 'DEPOSIT' THEN 'deposit.confirmed' WHEN 'WITHDRAWAL' THEN 'withdrawal.confirmed'
    WHEN 'YIELD_CLAIM' THEN 'yield.claimed' END
$$;

-- Insertions and deletions. Functions may have a row of `transactions` neither as argument nor as variable, as the table
-- can be exchanged for a partitioned one (deploy/partitions). Its plan is generic, as in transactions.sql.
CREATE OR REPLACE FUNCTION publish_transactions() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  direction CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
  first CONSTANT bigint := published_from();
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT direction, array_agg(block), array_agg(log), array_agg(item)
  FROM (SELECT (row_number() OVER () - 1) / 1000 AS n, "blockNumber" AS block, "logIndex" AS log,
    json_strip_nulls(to_json(event)) AS item FROM (
    SELECT CASE direction WHEN 1 THEN transaction_topic(r.type) ELSE 'transaction.reverted' END AS topic,
      iso(CASE direction WHEN 1 THEN coalesce(r.confirmed_at, r.created_at) ELSE clock_timestamp() END) AS "occurredAt",
      CASE direction WHEN -1 THEN transaction_topic(r.type) END AS reverted,
      r.pool_id AS "poolId", r.id AS "transactionId", r.type AS "transactionType", r.tx_hash AS "txHash",
      r.block_number AS "blockNumber", r.log_index AS "logIndex", r.account, r.amount::text AS amount,
      CASE direction WHEN 1 THEN coalesce(r.block_number <= (SELECT finalized_number FROM chain_cursor), false) END AS final
    FROM changed r WHERE r.status = 'CONFIRMED' AND (r.block_number < first) IS NOT TRUE) event) numbered
  GROUP BY n;
  RETURN NULL;
END $$;

-- By step: 1 and 2 take back that a transaction was confirmed or expired, and show it as it was; 3 and 4 say that it is.
CREATE OR REPLACE FUNCTION publish_updated_transactions() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  first CONSTANT bigint := published_from();
BEGIN
  -- Most updates only fill in gas.
  IF NOT EXISTS (SELECT FROM changed r JOIN former o ON o.id = r.id WHERE r.status <> o.status) THEN
    RETURN NULL;
  END IF;
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT direction, array_agg(block), array_agg(log), array_agg(json_strip_nulls(event))
  FROM (
    SELECT step, direction, (row_number() OVER () - 1) / 1000 AS n,
      CASE WHEN direction <> 0 THEN x.block_number END AS block,
      CASE WHEN direction <> 0 THEN x.log_index END AS log,
      json_build_object('topic', CASE WHEN step > 2 THEN topic ELSE 'transaction.reverted' END,
        'occurredAt', iso(CASE step WHEN 3 THEN coalesce(r.confirmed_at, r.created_at) ELSE clock_timestamp() END),
        'reverted', CASE WHEN step < 3 THEN topic END, 'poolId', r.pool_id, 'transactionId', r.id,
        'transactionType', r.type, 'txHash', x.tx_hash, 'blockNumber', x.block_number, 'logIndex', x.log_index,
        'account', r.account, 'amount', x.amount::text, 'final', CASE step WHEN 3 THEN
          coalesce(x.block_number <= (SELECT finalized_number FROM chain_cursor), false) END) AS event
    FROM changed r JOIN former o ON o.id = r.id
    CROSS JOIN LATERAL (SELECT CASE WHEN r.status = 'PENDING' THEN CASE o.status WHEN 'CONFIRMED' THEN 1 ELSE 2 END
      WHEN r.status = 'CONFIRMED' THEN 3 WHEN o.status = 'PENDING' THEN 4 END AS step) s
    CROSS JOIN LATERAL (SELECT (ARRAY[-1, 0, 1, 0])[step] AS direction,
      CASE WHEN step IN (1, 3) THEN transaction_topic(r.type) ELSE 'deposit.expired' END AS topic) k
    CROSS JOIN LATERAL (
      SELECT o.tx_hash, o.block_number, o.log_index, o.amount WHERE step < 3
      UNION ALL SELECT r.tx_hash, r.block_number, r.log_index, r.amount WHERE step > 2) x
    WHERE r.status <> o.status AND (x.block_number < first) IS NOT TRUE
  ) events
  GROUP BY step, direction, n ORDER BY step;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER publish_inserted_transactions AFTER INSERT ON transactions
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (creating() IS NOT TRUE)
  EXECUTE FUNCTION publish_transactions();
CREATE OR REPLACE TRIGGER publish_updated_transactions AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS changed OLD TABLE AS former FOR EACH STATEMENT
  EXECUTE FUNCTION publish_updated_transactions();
CREATE OR REPLACE TRIGGER publish_deleted_transactions AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION publish_transactions();

DROP FUNCTION IF EXISTS publish_inserted_transactions, publish_deleted_transactions;
