-- For each row, because only the API creates many pools, through create_pools. The columns that must have their defaults
-- are those that refusals.sql refuses to all but triggers; test/schema/schema.e2e-spec.ts holds the two lists together.
CREATE OR REPLACE FUNCTION pools_inserted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF (NEW.balance, NEW.pending_balance, NEW.total_yield, NEW.claimed_yield, NEW.apr_bps, NEW.member_count,
    NEW.deposit_count, NEW.withdrawal_count, NEW.claim_count, NEW.last_deposit_id, NEW.last_withdrawal_id,
    NEW.last_claim_id, NEW.last_claimed_at)
    IS DISTINCT FROM (0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL) THEN
    RAISE EXCEPTION 'derived columns of a new pool must have their defaults' USING ERRCODE = 'restrict_violation';
  END IF;
  INSERT INTO pool_totals AS t (shard, type, contract, pools)
  VALUES (pool_totals_shard(), NEW.type, NEW.contract_address, 1)
  ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET pools = t.pools + excluded.pools;
  INSERT INTO owner_totals AS t (owner_id, type, contract, writer, pools)
  VALUES (NEW.owner_id, NEW.type, NEW.contract_address, writer(), 1)
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
    pools = t.pools + excluded.pools;
  PERFORM take_contracts(ARRAY[NEW.id], ARRAY[NEW.contract_address::text]);
  INSERT INTO outbox (count, items) SELECT 1, json_build_array(json_build_object(
    'topic', 'pool.created', 'occurredAt', iso(NEW.created_at), 'poolId', NEW.id, 'contract', NEW.contract_address,
    'account', address)) FROM users WHERE id = NEW.owner_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION pools_deleted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM transactions t JOIN removed r ON r.id = t.pool_id) THEN
    RAISE EXCEPTION 'the pool has transactions'
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
  END IF;
  INSERT INTO pool_totals AS t (shard, type, contract, pools)
  SELECT pool_totals_shard(), type, contract_address, -count(*) FROM removed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET pools = t.pools + excluded.pools;
  -- Without transactions and accruals it had neither a balance nor yield.
  INSERT INTO owner_totals AS t (owner_id, type, contract, writer, pools)
  SELECT owner_id, type, contract_address, writer(), -count(*) FROM removed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
    pools = t.pools + excluded.pools;
  -- A contract that was one of these pools is the first of its older ones now, if there are any: nobody followed it then.
  UPDATE chain_contracts k SET pool_id = (SELECT p.id FROM pools p
    WHERE p.contract_address = k.address AND p.type::text = k.type ORDER BY p.id LIMIT 1)
  WHERE k.pools_by = 'contract' AND k.pool_id IS NULL AND k.address IN (SELECT contract_address FROM removed)
    AND (SELECT sum(t.pools) FROM pool_totals t WHERE t.contract = k.address) > 0;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER pools_inserted AFTER INSERT ON pools
  FOR EACH ROW WHEN (creating() IS NOT TRUE) EXECUTE FUNCTION pools_inserted();
CREATE OR REPLACE TRIGGER pools_deleted AFTER DELETE ON pools
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION pools_deleted();
