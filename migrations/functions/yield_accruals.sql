-- Totals that follow from accruals. A pool's rate is that of its newest remaining accrual, read under the pool's lock.

CREATE OR REPLACE FUNCTION yield_accruals_inserted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM FROM pools WHERE id IN (SELECT pool_id FROM added) ORDER BY id FOR NO KEY UPDATE;
  WITH changed AS (
    SELECT r.pool_id, sum(r.amount) AS amount,
      coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = r.pool_id
        ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0) AS apr_bps
    FROM added r GROUP BY r.pool_id
  ), before AS (
    SELECT p.id, p.apr_bps FROM pools p JOIN changed c ON c.pool_id = p.id
  ), updated AS (
    UPDATE pools p SET total_yield = p.total_yield + c.amount, apr_bps = c.apr_bps,
      last_update = changed_at(p.last_update)
    FROM changed c JOIN before b ON b.id = c.pool_id WHERE p.id = c.pool_id
    RETURNING p.type, p.contract_address AS contract, c.amount, c.apr_bps - b.apr_bps AS apr_bps, p.owner_id
  ), owners AS (
    INSERT INTO owner_totals AS t (owner_id, type, contract, writer, yield, apr_bps)
    SELECT owner_id, type, contract, writer(), sum(yield), sum(apr_bps)
    FROM (SELECT owner_id, type, contract, amount AS yield, apr_bps FROM updated) c
    GROUP BY owner_id, type, contract ORDER BY owner_id, type, contract
    ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
      yield = t.yield + excluded.yield, apr_bps = t.apr_bps + excluded.apr_bps
  )
  INSERT INTO pool_totals AS t (shard, type, contract, yield, apr_bps)
  SELECT pool_totals_shard(), type, contract, sum(amount), sum(apr_bps) FROM updated
  GROUP BY type, contract ORDER BY type, contract
  ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET
    yield = t.yield + excluded.yield, apr_bps = t.apr_bps + excluded.apr_bps;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION yield_accruals_deleted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM FROM pools WHERE id IN (SELECT pool_id FROM removed) ORDER BY id FOR NO KEY UPDATE;
  WITH changed AS (
    SELECT r.pool_id, -sum(r.amount) AS amount,
      coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = r.pool_id
        ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0) AS apr_bps
    FROM removed r GROUP BY r.pool_id
  ), before AS (
    SELECT p.id, p.apr_bps FROM pools p JOIN changed c ON c.pool_id = p.id
  ), updated AS (
    UPDATE pools p SET total_yield = p.total_yield + c.amount, apr_bps = c.apr_bps,
      last_update = changed_at(p.last_update)
    FROM changed c JOIN before b ON b.id = c.pool_id WHERE p.id = c.pool_id
    RETURNING p.type, p.contract_address AS contract, c.amount, c.apr_bps - b.apr_bps AS apr_bps, p.owner_id
  ), owners AS (
    INSERT INTO owner_totals AS t (owner_id, type, contract, writer, yield, apr_bps)
    SELECT owner_id, type, contract, writer(), sum(yield), sum(apr_bps)
    FROM (SELECT owner_id, type, contract, amount AS yield, apr_bps FROM updated) c
    GROUP BY owner_id, type, contract ORDER BY owner_id, type, contract
    ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
      yield = t.yield + excluded.yield, apr_bps = t.apr_bps + excluded.apr_bps
  )
  INSERT INTO pool_totals AS t (shard, type, contract, yield, apr_bps)
  SELECT pool_totals_shard(), type, contract, sum(amount), sum(apr_bps) FROM updated
  GROUP BY type, contract ORDER BY type, contract
  ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET
    yield = t.yield + excluded.yield, apr_bps = t.apr_bps + excluded.apr_bps;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER yield_accruals_inserted AFTER INSERT ON yield_accruals
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_inserted();
CREATE OR REPLACE TRIGGER yield_accruals_deleted AFTER DELETE ON yield_accruals
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_deleted();
