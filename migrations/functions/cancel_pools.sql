-- Pools that are cancelled before anything was paid into them. A payment into a cancelled pool brings it back.

-- The outcome: cancelled (again), forbidden, submitted, not_empty, unknown (the chain); null: there is no such pool. Only
-- money keeps a pool. The order of locks is that of all writers: the pool, totals, days, counts.
CREATE OR REPLACE FUNCTION cancel_pool(pool uuid, caller text) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  gone pools;
  deposit transactions;
  named_by text;
  placeholder uuid;
  -- Anyone can have a contract say the others of any pool, and no amount, at no cost.
  money CONSTANT text[] := '{YieldAccrued,Deposited,Withdrawn,YieldClaimed,Joined,Contributed,PaidOut,CircleRefunded}';
BEGIN
  -- The indexer holds the pools of its events, so none of them is applied meanwhile.
  SELECT p.* INTO gone FROM pools p JOIN users u ON u.id = p.owner_id
  WHERE p.id = pool AND u.address = caller FOR UPDATE OF p;
  IF NOT FOUND THEN
    RETURN (SELECT 'forbidden' FROM pools p WHERE p.id = pool
      UNION ALL SELECT 'cancelled' FROM cancelled_pools c WHERE c.id = pool AND c.account = caller);
  END IF;
  -- Nobody submits a hash meanwhile either.
  SELECT t.* INTO deposit FROM transactions t
  WHERE t.pool_id = pool AND t.status IN ('PENDING', 'EXPIRED') FOR UPDATE;
  -- A hash costs nothing, and one that no block ever has would keep its pool for ever. Nor does a deletion of the account
  -- wait for a payment that may never come.
  IF EXISTS (SELECT FROM submissions s WHERE s.transaction_id = deposit.id)
    AND (deposit.status = 'PENDING' OR deposit.created_at > now() - interval '30 days') AND NOT EXISTS (
    SELECT FROM account_deletions d WHERE d.address = caller AND d.requested_at >= gone.created_at) THEN
    RETURN 'submitted';
  END IF;
  IF gone.deposit_count > (deposit.id IS NOT NULL)::integer OR deposit.account <> caller OR gone.withdrawal_count > 0
    OR gone.claim_count > 0
    OR EXISTS (SELECT FROM positions o WHERE o.pool_id = pool)
    OR EXISTS (SELECT FROM yield_accruals y WHERE y.pool_id = pool)
    -- The contract has made the pool.
    OR EXISTS (SELECT FROM pool_names n WHERE n.pool_id = pool)
    -- Its circle is there, though nobody has joined yet.
    OR EXISTS (SELECT FROM chain_events e WHERE e.pool_id = pool AND e.kind = 'CircleOpened' AND e.outcome = 'APPLIED')
    -- The contract has money of the pool that the ledger lacks: events without effect, or without confirmations.
    OR EXISTS (SELECT FROM chain_events e WHERE e.pool_id = pool AND e.contract = gone.contract_address
      AND e.outcome = 'WAITING' AND e.kind = ANY (money) AND e.amount > 0)
    OR EXISTS (SELECT FROM chain_events e WHERE e.pool_id = pool AND e.contract = gone.contract_address
      AND e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED') AND e.kind = ANY (money) AND e.amount > 0) THEN
    RETURN 'not_empty';
  END IF;
  -- Where events do not have the pool's id, no payment brings it back: those of before have to be known, and none may wait.
  SELECT k.pools_by INTO named_by FROM chain_contracts k WHERE k.address = gone.contract_address AND k.pools_by <> 'reference';
  IF FOUND THEN
    IF EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = gone.contract_address)
      -- As in chain.sql.ts: what a dead process has left is stale.
      OR NOT EXISTS (SELECT FROM chain_cursor c WHERE c.state = 'synced'
        AND c.beat_at > now() - interval '15 seconds' AND c.progress_at > now() - interval '20 seconds') THEN
      RETURN 'unknown';
    END IF;
    placeholder := pool_stand_in(gone.contract_address,
      CASE named_by WHEN 'contract' THEN gone.contract_address ELSE caller END);
    IF EXISTS (SELECT FROM chain_events e WHERE e.outcome IN ('UNKNOWN_POOL', 'WAITING')
        AND e.kind = 'PoolOpened' AND e.contract = gone.contract_address AND e.account = caller)
      OR NOT EXISTS (SELECT FROM pool_names n WHERE n.stand_in = placeholder) AND (
        EXISTS (SELECT FROM chain_events e WHERE e.outcome = 'WAITING' AND e.pool_id = placeholder
          AND e.kind = ANY (money) AND e.amount > 0)
        OR EXISTS (SELECT FROM chain_events e WHERE e.outcome = 'UNKNOWN_POOL' AND e.pool_id = placeholder
          AND e.kind = ANY (money) AND e.amount > 0)) THEN
      RETURN 'not_empty';
    END IF;
  END IF;

  BEGIN
    INSERT INTO cancelled_pools (id, type, owner_id, account, contract_address, auto_compound,
      members, deposit_id, amount, created_at, cancelled_at)
    VALUES (pool, gone.type, gone.owner_id, caller, gone.contract_address, gone.auto_compound,
      ARRAY(SELECT m.address::text FROM pool_members m WHERE m.pool_id = pool AND m.role = 'MEMBER' ORDER BY 1),
      deposit.id, deposit.requested_amount, gone.created_at, now());
    -- As create_pools does.
    PERFORM pg_advisory_xact_lock(hashtextextended('pool totals', pool_totals_shard()));
    PERFORM FROM owner_totals o WHERE o.owner_id = gone.owner_id AND o.type = gone.type
      AND o.contract = gone.contract_address AND o.writer = writer() FOR UPDATE;
    DELETE FROM transactions WHERE id = deposit.id;
    DELETE FROM pools WHERE id = pool;
    INSERT INTO outbox (count, items) SELECT 1, json_build_array(json_strip_nulls(json_build_object(
      'topic', 'pool.cancelled', 'occurredAt', iso(clock_timestamp()), 'poolId', pool,
      'contract', gone.contract_address, 'transactionId', deposit.id, 'transactionType', deposit.type,
      'account', caller, 'amount', deposit.amount::text)));
    RETURN 'cancelled';
  EXCEPTION WHEN foreign_key_violation THEN
    -- A module's own row names the pool.
    RETURN 'not_empty';
  END;
END $$;

-- Brings back those of these pools that were cancelled, under the same ids, with their members and the pending deposit.
-- Returns how many. Only events of a pool's own contract bring it back; null: that is known already.
CREATE OR REPLACE FUNCTION restore_pools(pools uuid[], contracts text[]) RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  back cancelled_pools[];
BEGIN
  WITH restored AS (
    DELETE FROM cancelled_pools c USING (
      SELECT DISTINCT id, contract FROM unnest(restore_pools.pools, contracts) AS n(id, contract)) n
    WHERE c.id = n.id AND (n.contract IS NULL OR n.contract = c.contract_address) RETURNING c
  )
  SELECT coalesce(array_agg(c), '{}') INTO back FROM restored;
  -- Not in one statement: its triggers would count the deposits for members who begin with them.
  INSERT INTO pools (id, type, owner_id, contract_address, auto_compound, created_at, last_update)
  SELECT id, type, owner_id, contract_address, auto_compound, created_at, now() FROM unnest(back);
  INSERT INTO pool_members (pool_id, address, role, type)
  SELECT id, account, 'OWNER', type FROM unnest(back)
  UNION ALL SELECT id, m.address, 'MEMBER', type FROM unnest(back) CROSS JOIN unnest(members) AS m(address);
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount, created_at)
  SELECT deposit_id, id, owner_id, true, 'DEPOSIT', 'PENDING', account, amount, amount, created_at
  FROM unnest(back) WHERE deposit_id IS NOT NULL;
  RETURN cardinality(back);
END $$;

CREATE OR REPLACE TRIGGER cancelled_pools_fixed BEFORE UPDATE OF cancelled_at ON cancelled_pools
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_write('its age decides how long it is kept');
