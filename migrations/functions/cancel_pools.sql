-- Pools that are cancelled before anything was paid into them. A payment into a cancelled pool brings it back.

-- Takes a pool away into which nothing was paid. Says what became of it: cancelled (again), forbidden, submitted,
-- not_empty, unknown (the chain); null: there is no such pool. Only money keeps a pool: events of other kinds, and of no
-- amount, do not. The order of locks is that of all writers: the pool, totals, days, counts.
CREATE OR REPLACE FUNCTION cancel_pool(pool uuid, caller text) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  owner text;
  gone pools;
  deposit transactions;
  named_by text;
  waiting integer;
  -- Anyone can have a contract say the others of any pool, and no amount, at no cost.
  money CONSTANT text[] := '{YieldAccrued,Deposited,Withdrawn,YieldClaimed,Joined,Contributed,PaidOut,CircleRefunded}';
BEGIN
  SELECT u.address INTO owner FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.id = pool;
  IF owner IS NULL THEN
    RETURN (SELECT 'cancelled' FROM cancelled_pools c WHERE c.id = pool AND c.account = caller);
  END IF;
  IF owner <> caller THEN RETURN 'forbidden'; END IF;

  -- The indexer holds the pools of its events, so none of them is applied meanwhile.
  SELECT p.* INTO gone FROM pools p WHERE p.id = pool FOR UPDATE;
  IF NOT FOUND THEN
    RETURN (SELECT 'cancelled' FROM cancelled_pools c WHERE c.id = pool AND c.account = caller);
  END IF;
  -- Nobody tells a hash meanwhile either.
  SELECT t.* INTO deposit FROM transactions t
  WHERE t.pool_id = pool AND t.status IN ('PENDING', 'EXPIRED') FOR UPDATE;
  -- A hash costs nothing, and one that no block ever has would keep its pool for ever. Nor does a deletion of the account
  -- wait for a payment that may never come. One that does brings the pool back.
  IF EXISTS (SELECT FROM submissions s WHERE s.transaction_id = deposit.id)
    AND (deposit.status = 'PENDING' OR deposit.created_at > now() - interval '30 days') AND NOT EXISTS (
    SELECT FROM account_deletions d WHERE d.address = caller AND d.requested_at >= gone.created_at) THEN
    RETURN 'submitted';
  END IF;
  IF gone.deposit_count > (deposit.id IS NOT NULL)::integer OR deposit.account <> owner OR gone.withdrawal_count > 0
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
  IF named_by IS NOT NULL THEN
    IF EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = gone.contract_address)
      -- As in chain.sql.ts: what a dead process has left is stale.
      OR NOT EXISTS (SELECT FROM chain_cursor c WHERE c.state = 'synced'
        AND c.beat_at > now() - interval '15 seconds' AND c.progress_at > now() - interval '20 seconds') THEN
      RETURN 'unknown';
    END IF;
    IF named_by = 'number' THEN
      SELECT count(*) INTO waiting FROM chain_events e WHERE e.outcome IN ('UNKNOWN_POOL', 'WAITING')
        AND e.kind = 'PoolOpened' AND e.contract = gone.contract_address AND e.account = owner;
    ELSE
      SELECT count(*) INTO waiting FROM (
        SELECT pool_stand_in(gone.contract_address, CASE named_by WHEN 'contract' THEN gone.contract_address
          ELSE owner END) AS id) stand_in
      WHERE NOT EXISTS (SELECT FROM pool_names n WHERE n.stand_in = stand_in.id)
        AND (EXISTS (SELECT FROM chain_events e WHERE e.outcome = 'WAITING' AND e.pool_id = stand_in.id
            AND e.kind = ANY (money) AND e.amount > 0)
          OR EXISTS (SELECT FROM chain_events e WHERE e.outcome = 'UNKNOWN_POOL' AND e.pool_id = stand_in.id
            AND e.kind = ANY (money) AND e.amount > 0));
    END IF;
    -- As pools are tied: the n-th name that waits goes to the n-th of the owner's pools there that have none.
    IF waiting > 0 AND (CASE named_by
      WHEN 'contract' THEN EXISTS (SELECT FROM chain_contracts k
        WHERE k.address = gone.contract_address AND k.pool_id = pool)
      ELSE pool IN (SELECT p.id FROM pools p
        WHERE p.owner_id = gone.owner_id AND p.contract_address = gone.contract_address
          AND NOT EXISTS (SELECT FROM pool_names n WHERE n.pool_id = p.id)
        ORDER BY p.id LIMIT waiting)
      END) THEN
      RETURN 'not_empty';
    END IF;
  END IF;

  BEGIN
    INSERT INTO cancelled_pools (id, type, owner_id, account, contract_address, auto_compound,
      members, deposit_id, amount, created_at, cancelled_at)
    VALUES (pool, gone.type, gone.owner_id, owner, gone.contract_address, gone.auto_compound,
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
      'account', owner, 'amount', deposit.amount::text)));
    RETURN 'cancelled';
  EXCEPTION WHEN foreign_key_violation THEN
    -- A module's own row names the pool.
    RETURN 'not_empty';
  END;
END $$;

-- Brings back those of these pools that were cancelled, as they were: with their members and the pending deposit, under
-- the same ids. Returns how many. Only events of a pool's own contract bring it back; null: that is known already.
CREATE OR REPLACE FUNCTION restore_pools(pools uuid[], contracts text[]) RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  back cancelled_pools;
  count integer := 0;
BEGIN
  FOR back IN
    DELETE FROM cancelled_pools c USING (
      SELECT DISTINCT id, contract FROM unnest(restore_pools.pools, contracts) AS n(id, contract)) n
    WHERE c.id = n.id AND (n.contract IS NULL OR n.contract = c.contract_address) RETURNING c.*
  LOOP
    INSERT INTO pools (id, type, owner_id, contract_address, auto_compound,
      created_at, last_update)
    VALUES (back.id, back.type, back.owner_id, back.contract_address, back.auto_compound,
      back.created_at, now());
    INSERT INTO pool_members (pool_id, address, role, type)
    SELECT back.id, back.account, 'OWNER', back.type
    UNION ALL SELECT back.id, m.address, 'MEMBER', back.type FROM unnest(back.members) AS m(address);
    IF back.deposit_id IS NOT NULL THEN
      INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount,
        created_at)
      VALUES (back.deposit_id, back.id, back.owner_id, true, 'DEPOSIT', 'PENDING', back.account, back.amount,
        back.amount, back.created_at);
    END IF;
    count := count + 1;
  END LOOP;
  RETURN count;
END $$;

CREATE OR REPLACE TRIGGER cancelled_pools_fixed BEFORE UPDATE OF cancelled_at ON cancelled_pools
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_write('its age decides how long it is kept');
