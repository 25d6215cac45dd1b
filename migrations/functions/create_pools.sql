-- POST /pools inserts into the view new_pools: one row of pools with their members and pending deposits. Element n of
-- each array is of pool n; `members` holds arrays as text. One statement keeps their totals and writes their events, which
-- costs less than the triggers of other writers.

CREATE OR REPLACE FUNCTION create_pools() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  crowded boolean;
  -- Where a contract knows pools by account, an account has one pool there, and a contract that is one pool has that one:
  -- one more would never get a payment.
  places text[];
BEGIN
  -- A session that the deletion of its account ends may be making a pool.
  PERFORM FROM users WHERE id = ANY (NEW.owner_ids) FOR KEY SHARE;
  IF EXISTS (SELECT FROM users WHERE id = ANY (NEW.owner_ids) AND has_left) THEN
    RAISE EXCEPTION 'the owner has left' USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'pools_owner_id_fkey';
  END IF;
  -- The contracts do not change meanwhile: a new set waits for the pools that are being made, and finds them.
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('followed contracts', 0));
  -- The service builds no call that pays into them.
  IF EXISTS (SELECT FROM chain_contracts_apart WHERE state = 'quarantined' AND address = ANY(NEW.contracts)) THEN
    RAISE EXCEPTION 'the contract is quarantined'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'pools_not_quarantined';
  END IF;
  places := ARRAY(SELECT concat_ws(' ', contract, CASE k.pools_by WHEN 'account' THEN owner_id END)
    FROM unnest(NEW.owner_ids, NEW.contracts) AS n(owner_id, contract) CROSS JOIN LATERAL (SELECT DISTINCT pools_by
      FROM chain_contracts WHERE pools_by IN ('account', 'contract') AND address = contract) k);
  IF places <> '{}' THEN
    -- Others may be making a pool in the same place. In one order, before any other lock.
    PERFORM pg_advisory_xact_lock(key)
    FROM (SELECT DISTINCT hashtextextended('pool of ' || place, 0) AS key FROM unnest(places) AS place ORDER BY 1) k;
    -- A statement of its own, so that it sees what those have made.
    IF cardinality(places) > (SELECT count(DISTINCT place) FROM unnest(places) AS place) OR EXISTS (
      SELECT FROM unnest(places) AS place CROSS JOIN LATERAL (SELECT split_part(place, ' ', 1) AS contract,
        nullif(split_part(place, ' ', 2), '')::uuid AS owner) n
      WHERE EXISTS (SELECT FROM pools p WHERE p.owner_id = n.owner AND p.contract_address = n.contract)
        OR n.owner IS NULL AND EXISTS (SELECT FROM chain_contracts k WHERE k.address = n.contract AND k.pool_id IS NOT NULL))
    THEN
      RAISE EXCEPTION 'there is a pool in its place at this contract'
        USING ERRCODE = 'unique_violation', CONSTRAINT = 'pools_one_in_place';
    END IF;
  END IF;
  -- Backends that share a shard would lock its rows in different orders.
  PERFORM pg_advisory_xact_lock(hashtextextended('pool totals', pool_totals_shard()));
  -- Only a superuser may declare a setting of that kind with the function.
  PERFORM set_config('savings.creating', 'on', true);
  WITH new AS (
    SELECT * FROM unnest(NEW.pools, NEW.types, NEW.owner_ids, NEW.contracts,
      NEW.auto_compounds, NEW.members, NEW.created_at, NEW.owners, NEW.deposits, NEW.amounts)
      AS n (id, type, owner_id, contract, auto_compound, members, created_at, owner, deposit, amount)
  ), pool AS (
    INSERT INTO pools (id, type, owner_id, contract_address, auto_compound, member_count, created_at, last_update,
      balance, pending_balance, deposit_count, last_deposit_id)
    SELECT id, type, owner_id, contract, auto_compound, cardinality(members::text[]), created_at, created_at,
      amount, amount, 1, deposit FROM new
  ), members AS (
    -- As pool_members_inserting does.
    INSERT INTO pool_members (pool_id, address, role, type, indexed)
    SELECT id, owner, 'OWNER', type, false FROM new
    UNION ALL SELECT id, m.address, 'MEMBER', type, EXISTS (SELECT FROM pool_members f
      WHERE NOT f.indexed AND f.role = 'MEMBER' AND f.address = m.address OFFSET few_memberships() - 1)
    FROM new CROSS JOIN unnest(members::text[]) AS m(address)
    RETURNING indexed
  ), deposit AS (
    INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount,
      created_at)
    SELECT deposit, id, owner_id, true, 'DEPOSIT', 'PENDING', owner, amount, amount, created_at FROM new
  ), day AS (
    -- In one order in all transactions, because several may write the same days.
    INSERT INTO account_days AS a (address, day, contract, writer, deposited, pending, deposits)
    SELECT owner, (created_at AT TIME ZONE 'UTC')::date, contract, 1, sum(amount), sum(amount), count(*)
    FROM new GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET deposited = a.deposited + excluded.deposited,
      pending = a.pending + excluded.pending, deposits = a.deposits + excluded.deposits
  ), owned AS (
    -- Before the days, as in other writers: of parts that nothing reads the last one runs first.
    INSERT INTO owner_totals AS o (owner_id, type, contract, writer, pools, active)
    SELECT owner_id, type, contract, 1, count(*), count(*) FILTER (WHERE amount > 0)
    FROM new GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET pools = o.pools + excluded.pools,
      active = o.active + excluded.active
  ), event AS (
    INSERT INTO outbox (count, items) SELECT count(*), json_agg(json_build_object(
      'topic', 'pool.created', 'occurredAt', iso(created_at), 'poolId', id, 'contract', contract,
      'transactionId', deposit, 'transactionType', 'DEPOSIT', 'account', owner, 'amount', amount::text)) FROM new
  ), totals AS (
    INSERT INTO pool_totals AS t (shard, type, contract, pools, deposited, pending)
    SELECT pool_totals_shard(), type, contract, count(*), sum(amount), sum(amount)
    FROM new GROUP BY type, contract ORDER BY type, contract
    ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET pools = t.pools + excluded.pools,
      deposited = t.deposited + excluded.deposited, pending = t.pending + excluded.pending
  )
  SELECT bool_or(indexed) INTO crowded FROM members;
  IF crowded THEN
    INSERT INTO member_counts AS c (address, type, writer, count)
    SELECT m.address, k.type, 1, count(*)
    FROM pool_members m CROSS JOIN LATERAL (VALUES (m.type::text), ('DEPOSIT')) AS k(type)
    WHERE m.pool_id = ANY(NEW.pools) AND m.indexed GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count;
    -- What refresh_streams would find: a new pool has its first deposit and nothing else.
    INSERT INTO member_streams (pool_id, address, type, status, first_id, last_id)
    SELECT n.pool, m.address, 'DEPOSIT', 'PENDING', n.deposit, n.deposit
    FROM unnest(NEW.pools, NEW.deposits) AS n(pool, deposit)
    -- Each pool by the index: a plain join would read the whole table while its statistics say that it is almost empty.
    CROSS JOIN LATERAL (SELECT address FROM pool_members WHERE pool_id = n.pool AND indexed OFFSET 0) m;
  END IF;
  IF places <> '{}' THEN
    UPDATE chain_contracts k SET pool_id = n.id FROM unnest(NEW.pools, NEW.contracts) AS n(id, contract)
    WHERE k.address = n.contract AND k.pools_by = 'contract' AND k.pool_id IS NULL;
  END IF;
  PERFORM set_config('savings.creating', 'off', true);
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER create_pools INSTEAD OF INSERT ON new_pools FOR EACH ROW EXECUTE FUNCTION create_pools();
