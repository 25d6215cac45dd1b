-- Totals that follow from pools. The columns that must have their defaults are those that 51-triggers-refusals.sql
-- refuses to all but triggers; test/schema.e2e-spec.ts holds the two lists together.

-- For each row, because only the API creates many pools, through create_pools.
CREATE FUNCTION pools_inserted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF (NEW.balance, NEW.pending_balance, NEW.total_yield, NEW.claimed_yield, NEW.apr_bps, NEW.member_count,
    NEW.deposit_count, NEW.withdrawal_count, NEW.claim_count, NEW.last_deposit_id, NEW.last_withdrawal_id,
    NEW.last_claim_id, NEW.last_claimed_at)
    IS DISTINCT FROM (0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL) THEN
    RAISE EXCEPTION 'derived columns of a new pool must have their defaults' USING ERRCODE = 'restrict_violation';
  END IF;
  UPDATE pool_totals SET pools = pools + 1 WHERE shard = pool_totals_shard() AND type = NEW.type;
  INSERT INTO owner_totals AS t (owner_id, type, writer, pools)
  SELECT owner_id, type, writer(), sum(pools)
  FROM (SELECT NEW.owner_id AS owner_id, NEW.type AS type, 1 AS pools) c
  GROUP BY owner_id, type ORDER BY owner_id, type
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
    pools = t.pools + excluded.pools;
  RETURN NULL;
END $$;

CREATE FUNCTION pools_deleted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM transactions t JOIN removed r ON r.id = t.pool_id) THEN
    RAISE EXCEPTION 'the pool has transactions'
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
  END IF;
  UPDATE pool_totals t SET pools = t.pools - r.pools
  FROM (SELECT type, count(*) AS pools FROM removed GROUP BY type) r
  WHERE t.shard = pool_totals_shard() AND t.type = r.type;
  -- Without transactions and accruals it had neither a balance nor yield.
  INSERT INTO owner_totals AS t (owner_id, type, writer, pools)
  SELECT owner_id, type, writer(), sum(pools)
  FROM (SELECT owner_id, type, -1 AS pools FROM removed) c
  GROUP BY owner_id, type ORDER BY owner_id, type
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
    pools = t.pools + excluded.pools;
  RETURN NULL;
END $$;
