-- Totals and events that follow from accruals. A pool's rate is that of its newest remaining accrual, read under the
-- pool's lock.

CREATE OR REPLACE FUNCTION yield_accruals_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
  finalized CONSTANT bigint := coalesce((SELECT finalized_number FROM chain_cursor), -1);
  first CONSTANT bigint := published_from();
BEGIN
  PERFORM FROM pools WHERE id IN (SELECT pool_id FROM changed) ORDER BY id FOR NO KEY UPDATE;
  WITH changes AS (
    SELECT r.pool_id, sign * sum(r.amount) AS amount,
      coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = r.pool_id
        ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0) AS apr_bps
    FROM changed r GROUP BY r.pool_id
  ), before AS (
    SELECT p.id, p.apr_bps FROM pools p JOIN changes c ON c.pool_id = p.id
  ), updated AS (
    UPDATE pools p SET total_yield = p.total_yield + c.amount, apr_bps = c.apr_bps,
      last_update = changed_at(p.last_update)
    FROM changes c JOIN before b ON b.id = c.pool_id WHERE p.id = c.pool_id
    RETURNING p.type, p.contract_address AS contract, c.amount, c.apr_bps - b.apr_bps AS apr_bps, p.owner_id
  ), owners AS (
    INSERT INTO owner_totals AS t (owner_id, type, contract, writer, yield, apr_bps)
    SELECT owner_id, type, contract, writer(), sum(amount), sum(apr_bps) FROM updated
    GROUP BY owner_id, type, contract ORDER BY owner_id, type, contract
    ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
      yield = t.yield + excluded.yield, apr_bps = t.apr_bps + excluded.apr_bps
  )
  INSERT INTO pool_totals AS t (shard, type, contract, yield, apr_bps)
  SELECT pool_totals_shard(), type, contract, sum(amount), sum(apr_bps) FROM updated
  GROUP BY type, contract ORDER BY type, contract
  ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET
    yield = t.yield + excluded.yield, apr_bps = t.apr_bps + excluded.apr_bps;
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT sign, array_agg(y.block_number), array_agg(y.log_index), array_agg(json_strip_nulls(json_build_object(
    'topic', CASE sign WHEN 1 THEN 'yield.accrued' ELSE 'transaction.reverted' END,
    'occurredAt', iso(CASE sign WHEN 1 THEN y.accrued_at ELSE clock_timestamp() END),
    'reverted', CASE sign WHEN -1 THEN 'yield.accrued' END, 'poolId', y.pool_id, 'blockNumber', y.block_number,
    'logIndex', y.log_index, 'amount', y.amount::text, 'final', CASE sign WHEN 1 THEN y.block_number <= finalized END)))
  FROM changed y WHERE y.block_number >= first GROUP BY y.block_number / 64;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER yield_accruals_inserted AFTER INSERT ON yield_accruals
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_changed();
CREATE OR REPLACE TRIGGER yield_accruals_deleted AFTER DELETE ON yield_accruals
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_changed();
