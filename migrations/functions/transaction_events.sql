-- Events of transactions, and the submissions that they end or begin. `final`: whether no reorganisation can take an event
-- back any more, as of now.

CREATE OR REPLACE FUNCTION transaction_topic(type text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE type WHEN 'DEPOSIT' THEN 'deposit.confirmed' WHEN 'WITHDRAWAL' THEN 'withdrawal.confirmed'
    WHEN 'YIELD_CLAIM' THEN 'yield.claimed' END
$$;

-- Functions may have a row of `transactions` neither as argument nor as variable, as the table can be exchanged for a
-- partitioned one (deploy/partitions). Plans are generic, as in transactions.sql.
CREATE OR REPLACE FUNCTION publish_transactions() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
  first CONSTANT bigint := published_from();
BEGIN
  IF TG_OP <> 'UPDATE' THEN
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT sign, array_agg(r.block_number), array_agg(r.log_index), array_agg(json_strip_nulls(json_build_object(
      'topic', CASE sign WHEN 1 THEN transaction_topic(r.type) ELSE 'transaction.reverted' END,
      'occurredAt', iso(CASE sign WHEN 1 THEN coalesce(r.confirmed_at, r.created_at) ELSE clock_timestamp() END),
      'reverted', CASE sign WHEN -1 THEN transaction_topic(r.type) END, 'poolId', r.pool_id, 'transactionId', r.id,
      'transactionType', r.type, 'txHash', r.tx_hash, 'blockNumber', r.block_number, 'logIndex', r.log_index,
      'account', r.account, 'amount', r.amount::text, 'final', CASE sign WHEN 1 THEN
        coalesce(r.block_number <= (SELECT finalized_number FROM chain_cursor), false) END)))
    FROM changed r WHERE r.status = 'CONFIRMED' AND (r.block_number < first) IS NOT TRUE
    GROUP BY r.block_number / 64;
    IF TG_OP = 'DELETE' THEN
      DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM changed WHERE status <> 'CONFIRMED');
    END IF;
    RETURN NULL;
  END IF;

  -- Most updates only fill in gas. Full joins, as in transactions.sql.
  IF NOT EXISTS (SELECT FROM changed r FULL JOIN former o ON o.id = r.id WHERE r.status IS DISTINCT FROM o.status) THEN
    RETURN NULL;
  END IF;
  -- By step: 1 and 2 take back that it was confirmed or expired, and show it as it was; 3 and 4 say that it is.
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
    FROM changed r FULL JOIN former o ON o.id = r.id
    CROSS JOIN LATERAL (SELECT CASE WHEN r.status = 'PENDING' THEN CASE o.status WHEN 'CONFIRMED' THEN 1 ELSE 2 END
      WHEN r.status = 'CONFIRMED' THEN 3 WHEN o.status = 'PENDING' THEN 4 END AS step) s
    CROSS JOIN LATERAL (SELECT (ARRAY[-1, 0, 1, 0])[step] AS direction,
      CASE WHEN step IN (1, 3) THEN transaction_topic(r.type) ELSE 'deposit.expired' END AS topic) k
    CROSS JOIN LATERAL (
      SELECT o.tx_hash, o.block_number, o.log_index, o.amount WHERE step < 3
      UNION ALL SELECT r.tx_hash, r.block_number, r.log_index, r.amount WHERE step > 2) x
    WHERE r.status IS DISTINCT FROM o.status AND (x.block_number < first) IS NOT TRUE
  ) events
  GROUP BY step, direction, n ORDER BY step;
  -- A payment ends its submission. One that a reorganisation takes back is on its way again, whoever submitted its hash.
  DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM changed WHERE status = 'CONFIRMED');
  -- It was on the chain: only the chain can say that it will not come again.
  INSERT INTO submissions (transaction_id, account, hash, at, check_at, known)
  SELECT r.id, r.account, o.tx_hash, now(), now() + interval '20 seconds', true
  FROM changed r FULL JOIN former o ON o.id = r.id
  WHERE coalesce(o.status = 'CONFIRMED' AND r.status <> 'CONFIRMED' AND r.type = 'DEPOSIT', false)
  ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET hash = excluded.hash, at = excluded.at, known = true,
    sender = NULL, nonce = NULL;
  PERFORM stage_submitted(ARRAY(SELECT s.transaction_id FROM submissions s WHERE s.transaction_id = ANY (ARRAY(
    SELECT r.id FROM changed r FULL JOIN former o ON o.id = r.id
    WHERE coalesce(o.status = 'EXPIRED' AND r.status = 'PENDING', false)))));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER publish_inserted_transactions AFTER INSERT ON transactions
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (creating() IS NOT TRUE)
  EXECUTE FUNCTION publish_transactions();
CREATE OR REPLACE TRIGGER publish_updated_transactions AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS changed OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION publish_transactions();
CREATE OR REPLACE TRIGGER publish_deleted_transactions AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION publish_transactions();
