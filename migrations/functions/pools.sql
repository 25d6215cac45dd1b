-- Totals and events of pools that come and go otherwise than by create_pools. The columns that must have their defaults are
-- those of pools_derived in refusals.sql.
CREATE OR REPLACE FUNCTION pools_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  IF sign = -1 AND EXISTS (SELECT FROM transactions t JOIN changed c ON c.id = t.pool_id) THEN
    RAISE EXCEPTION 'the pool has transactions'
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
  END IF;
  IF sign = 1 AND EXISTS (SELECT FROM changed c WHERE
    (c.balance, c.pending_balance, c.total_yield, c.claimed_yield, c.apr_bps, c.member_count, c.deposit_count,
      c.withdrawal_count, c.claim_count, c.last_deposit_id, c.last_withdrawal_id, c.last_claim_id, c.last_claimed_at)
    IS DISTINCT FROM (0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL)) THEN
    RAISE EXCEPTION 'derived columns of a new pool must have their defaults' USING ERRCODE = 'restrict_violation';
  END IF;
  INSERT INTO pool_totals AS t (shard, type, contract, pools)
  SELECT pool_totals_shard(), type, contract_address, sign * count(*) FROM changed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET pools = t.pools + excluded.pools;
  -- Without transactions and accruals a pool has neither a balance nor yield.
  INSERT INTO owner_totals AS t (owner_id, type, contract, writer, pools)
  SELECT owner_id, type, contract_address, writer(), sign * count(*) FROM changed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET pools = t.pools + excluded.pools;
  -- A contract that is one pool is the new one if it had none. One that was a deleted pool is the first of its older ones
  -- now, if there are any: nobody followed it then.
  UPDATE chain_contracts k SET pool_id = CASE sign
    WHEN 1 THEN (SELECT c.id FROM changed c WHERE c.contract_address = k.address ORDER BY c.id LIMIT 1)
    ELSE (SELECT p.id FROM pools p WHERE p.contract_address = k.address AND p.type::text = k.type
      ORDER BY p.id LIMIT 1) END
  WHERE k.pools_by = 'contract' AND k.pool_id IS NULL AND k.address IN (SELECT contract_address FROM changed)
    AND (SELECT sum(t.pools) FROM pool_totals t WHERE t.contract = k.address) > 0;
  INSERT INTO outbox (count, items) SELECT 1, json_build_array(json_build_object(
    'topic', 'pool.created', 'occurredAt', iso(c.created_at), 'poolId', c.id, 'contract', c.contract_address,
    'account', u.address)) FROM changed c JOIN users u ON u.id = c.owner_id WHERE sign = 1;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER pools_inserted AFTER INSERT ON pools
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (creating() IS NOT TRUE)
  EXECUTE FUNCTION pools_changed();
CREATE OR REPLACE TRIGGER pools_deleted AFTER DELETE ON pools
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION pools_changed();
