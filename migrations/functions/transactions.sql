-- Totals that follow from transactions. Whatever is derived from the ledger is kept by triggers, so that no writer can
-- change the ledger without it. A statement touches each pool and each day of an account once. The cost of a transaction
-- does not depend on the number of the pool's members, except of those whose membership is indexed.
--
-- Others decide how many memberships a person has. So the first few of an address are looked up by whoever lists them, and
-- all later ones are indexed: member_streams has the pool's first and newest transactions for each of them, and
-- member_counts adds them up. It is decided when a membership begins, and never changes. Readers take both kinds together.
--
-- Locks are always taken in this order: pools by id, pool_totals, owner_totals by key, account_days by key,
-- member_counts by key. Rows of member_streams and the counts of a pool's memberships change only under the pool's
-- lock. The indexer and all other writers use different rows of these sums, so POST /pools never waits for a batch of
-- events.

-- For writers that do not know the owner.
CREATE OR REPLACE FUNCTION transactions_inserting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT p.owner_id, u.address = NEW.account INTO NEW.owner_id, NEW.by_owner
  FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.id = NEW.pool_id;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'pool % does not exist', NEW.pool_id
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
  END IF;
  RETURN NEW;
END $$;

-- Replaces a foreign key to pools, too, which would take an eighth of the insertion's time; pools_deleted is the other half.
-- Its plans are generic: to plan a statement for the arrays of each call would take longer than to run it.
CREATE OR REPLACE FUNCTION transactions_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- Whether rows come, go or stay.
  sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 WHEN 'DELETE' THEN -1 ELSE 0 END;
  ids uuid[];
  pool_ids uuid[];
  owner_ids uuid[];
  owned boolean[];
  accounts text[] COLLATE "C";
  types text[] COLLATE "C";
  times timestamptz[];
  -- What changes in sums, without expired deposits, and the part of it that is not on the chain.
  amounts numeric[];
  pendings numeric[];
  missing integer;
  -- Pools with indexed members. They are locked by then, so no membership begins or ends meanwhile.
  crowded uuid[];
BEGIN
  IF TG_OP = 'UPDATE' THEN
    SELECT array_agg(r.id), array_agg(r.pool_id), array_agg(r.owner_id), array_agg(r.by_owner),
      array_agg(r.account::text), array_agg(r.type::text), array_agg(r.created_at),
      array_agg(CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END
        - CASE o.status WHEN 'EXPIRED' THEN 0 ELSE o.amount END),
      array_agg(CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END
        - CASE WHEN o.status = 'PENDING' AND o.type = 'DEPOSIT' THEN o.amount ELSE 0 END)
    INTO ids, pool_ids, owner_ids, owned, accounts, types, times, amounts, pendings
    -- No nested loop can do a full join. The session's first call, of one row perhaps, decides the plan of all later ones.
    FROM changed r FULL JOIN former o ON o.id = r.id
    WHERE (r.amount, r.status) IS DISTINCT FROM (o.amount, o.status);
  ELSE
    SELECT array_agg(r.id), array_agg(r.pool_id), array_agg(r.owner_id), array_agg(r.by_owner),
      array_agg(r.account::text), array_agg(r.type::text), array_agg(r.created_at),
      array_agg(sign * CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END),
      array_agg(sign * CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END)
    INTO ids, pool_ids, owner_ids, owned, accounts, types, times, amounts, pendings
    FROM changed r;
  END IF;
  -- Most updates only fill in gas.
  IF ids IS NULL THEN RETURN NULL; END IF;

  PERFORM FROM pools WHERE id = ANY(pool_ids) ORDER BY id FOR NO KEY UPDATE;
  -- Of parts that nothing reads PostgreSQL runs the last one first.
  WITH changes AS MATERIALIZED (
    SELECT pool_id, owner_id,
      coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposited,
      coalesce(sum(amount) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawn,
      coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claimed,
      sum(pending) AS pending,
      sign * count(*) FILTER (WHERE type = 'DEPOSIT') AS deposits,
      sign * count(*) FILTER (WHERE type = 'WITHDRAWAL') AS withdrawals,
      sign * count(*) FILTER (WHERE type = 'YIELD_CLAIM') AS claims,
      max(created_at) FILTER (WHERE sign > 0 AND type = 'YIELD_CLAIM') AS claimed_at
    FROM unnest(ids, pool_ids, owner_ids, types, times, amounts, pendings)
      AS r (id, pool_id, owner_id, type, created_at, amount, pending)
    GROUP BY pool_id, owner_id
  ), updated AS (
    -- The newest transaction is looked up. The pool is locked, so other writers' changes are visible.
    UPDATE pools p SET
      balance = p.balance + c.deposited - c.withdrawn,
      pending_balance = p.pending_balance + c.pending,
      claimed_yield = p.claimed_yield + c.claimed,
      deposit_count = p.deposit_count + c.deposits,
      withdrawal_count = p.withdrawal_count + c.withdrawals,
      claim_count = p.claim_count + c.claims,
      last_deposit_id = CASE c.deposits WHEN 0 THEN p.last_deposit_id ELSE (SELECT x.id FROM transactions x
        WHERE x.pool_id = p.id AND x.type = 'DEPOSIT' ORDER BY x.id DESC LIMIT 1) END,
      last_withdrawal_id = CASE c.withdrawals WHEN 0 THEN p.last_withdrawal_id ELSE (SELECT x.id FROM transactions x
        WHERE x.pool_id = p.id AND x.type = 'WITHDRAWAL' ORDER BY x.id DESC LIMIT 1) END,
      last_claim_id = CASE c.claims WHEN 0 THEN p.last_claim_id ELSE (SELECT x.id FROM transactions x
        WHERE x.pool_id = p.id AND x.type = 'YIELD_CLAIM' ORDER BY x.id DESC LIMIT 1) END,
      last_claimed_at = CASE WHEN c.claims < 0 THEN (SELECT max(x.created_at) FROM transactions x
        WHERE x.pool_id = p.id AND x.type = 'YIELD_CLAIM')
        ELSE greatest(p.last_claimed_at, c.claimed_at) END,
      last_update = changed_at(p.last_update)
    FROM changes c WHERE p.id = c.pool_id AND p.owner_id = c.owner_id
    RETURNING p.id, p.type, p.contract_address AS contract, c.deposited, c.pending, p.owner_id,
      (p.balance > 0)::int - (p.balance - c.deposited + c.withdrawn > 0)::int AS active
  ), owners AS (
    INSERT INTO owner_totals AS t (owner_id, type, contract, writer, active)
    SELECT owner_id, type, contract, writer(), sum(active) FROM updated WHERE active <> 0
    GROUP BY owner_id, type, contract ORDER BY owner_id, type, contract
    ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET active = t.active + excluded.active
  ), totals AS (
    INSERT INTO pool_totals AS t (shard, type, contract, deposited, pending)
    SELECT pool_totals_shard(), type, contract, sum(deposited), sum(pending) FROM updated
    GROUP BY type, contract HAVING sum(deposited) <> 0 OR sum(pending) <> 0 ORDER BY type, contract
    ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET
      deposited = t.deposited + excluded.deposited, pending = t.pending + excluded.pending
  )
  SELECT (SELECT count(*) FROM changes) - (SELECT count(*) FROM updated), ARRAY(
    SELECT u.id FROM updated u CROSS JOIN LATERAL (
      SELECT FROM pool_members m WHERE m.pool_id = u.id AND m.indexed LIMIT 1) m)
  INTO missing, crowded;
  IF TG_OP = 'INSERT' THEN
    IF missing > 0 THEN
      RAISE EXCEPTION 'pool_id and owner_id must be those of a pool'
        USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
    END IF;
    IF EXISTS (SELECT FROM (SELECT DISTINCT * FROM unnest(owner_ids, owned, accounts)) AS r (owner_id, by_owner, account)
      WHERE r.by_owner <> (r.account = (SELECT u.address FROM users u WHERE u.id = r.owner_id))) THEN
      RAISE EXCEPTION 'by_owner must say whether the account is the owner''s'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'transactions_by_owner_check';
    END IF;
  END IF;

  -- The payer's sums, and the number of rows that an address may list in its own right, as the owner or as a payer who is
  -- no member. A member's number comes from the pool's own counts.
  INSERT INTO account_days AS a
    (address, day, contract, writer, deposited, pending, claimed, deposits, withdrawals, claims)
  SELECT address, day, contract, writer(),
    coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0), sum(pending),
    coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0)
  -- Pools, owners and members are looked up once for what an account paid into a pool on a day.
  FROM (
    SELECT pool_id, owner_id, by_owner, account, type, (created_at AT TIME ZONE 'UTC')::date AS day, sum(amount) AS paid,
      sum(pending) AS unconfirmed, sign * count(*) AS rows
    FROM unnest(pool_ids, owner_ids, owned, accounts, types, times, amounts, pendings)
      AS r (pool_id, owner_id, by_owner, account, type, created_at, amount, pending)
    GROUP BY 1, 2, 3, 4, 5, 6
  ) r
  JOIN LATERAL (SELECT p.contract_address::text AS contract FROM pools p WHERE p.id = r.pool_id) p ON true
  CROSS JOIN LATERAL (
    SELECT r.account AS address, r.paid AS amount, r.unconfirmed AS pending,
      CASE WHEN sign <> 0 AND (r.by_owner OR NOT EXISTS (
        SELECT FROM pool_members m WHERE m.pool_id = r.pool_id AND m.address = r.account))
      THEN r.rows ELSE 0 END AS count
    UNION ALL
    SELECT u.address, 0, 0, r.rows FROM users u WHERE u.id = r.owner_id AND NOT r.by_owner AND sign <> 0
  ) changes
  GROUP BY address, day, contract ORDER BY address, day, contract
  ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
    deposited = a.deposited + excluded.deposited,
    pending = a.pending + excluded.pending,
    claimed = a.claimed + excluded.claimed,
    deposits = a.deposits + excluded.deposits,
    withdrawals = a.withdrawals + excluded.withdrawals,
    claims = a.claims + excluded.claims;

  -- A row or two for each of 100 members at most, so whoever makes a crowd pays a transaction on the chain for as many.
  IF crowded <> '{}' THEN
    INSERT INTO member_counts AS c (address, type, writer, count)
    SELECT m.address, r.type, writer(), sum(r.count)
    FROM (SELECT pool_id, type, sign * count(*) AS count FROM unnest(pool_ids, types) AS r (pool_id, type)
      WHERE sign <> 0 AND pool_id = ANY(crowded) GROUP BY 1, 2) r
    CROSS JOIN LATERAL (SELECT address FROM pool_members WHERE pool_id = r.pool_id AND indexed OFFSET 0) m
    GROUP BY m.address, r.type ORDER BY m.address, r.type
    ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count;
    PERFORM refresh_streams(crowded);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER transactions_inserting BEFORE INSERT ON transactions FOR EACH ROW
  WHEN (NEW.owner_id IS NULL OR NEW.by_owner IS NULL) EXECUTE FUNCTION transactions_inserting();
CREATE OR REPLACE TRIGGER transactions_inserted AFTER INSERT ON transactions
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (creating() IS NOT TRUE)
  EXECUTE FUNCTION transactions_changed();
CREATE OR REPLACE TRIGGER transactions_updated AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS changed OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION transactions_changed();
CREATE OR REPLACE TRIGGER transactions_deleted AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION transactions_changed();

DROP FUNCTION IF EXISTS transactions_inserted, transactions_updated, transactions_deleted;
