-- Totals that follow from transactions.
--
-- Everything that is derived from the ledger is kept by statement-level triggers, so no writer can change the ledger
-- without the totals. Derived are pools' balances, yield, rate, counts and newest transactions; account_days;
-- pool_totals; owner_totals; pools' member_count; member_streams and member_counts. A statement touches each pool and
-- each day of an account once, however many rows it changes. The cost of a transaction does not depend on the number of
-- the pool's members, except of those whose membership is indexed: members of very many pools.
--
-- Others decide how many memberships a person has. So the first few of an address are looked up in `pools` by whoever
-- lists them, and all later ones are indexed: member_streams has the pool's first and newest transactions for each of
-- them, and member_counts adds them up. It is decided when a membership begins, and never changes. Readers take both
-- kinds together, so no list depends on where the limit is, or on who crosses it at the same time.
--
-- Locks are always taken in this order: pools by id, pool_totals, owner_totals by key, account_days by key,
-- member_counts by key. Rows of member_streams and the counts of a pool's memberships change only under the pool's
-- lock. The indexer and all other writers use different rows of these sums, so POST /pools never waits for a batch of
-- events.
--
-- Each function takes the same steps, with the rows that changed, their amounts as they count (those of expired
-- deposits count in no sum) and the part of them that is not on the chain:
-- 1. Locks the pools.
-- 2. Changes the sums and counts of the pools, of their owners, and the global ones. `missing`: how many of the pools
--    do not exist. `crowded`: those that have indexed members. The pools are locked by then, so no membership begins or
--    ends meanwhile. Of parts that nothing reads PostgreSQL runs the last one first.
-- 3. Changes the days: the payer's sums, and the number of rows that an address may list in its own right. Such
--    addresses are the owner, always, and a payer who is neither owner nor member. A member's number comes from the
--    pool's own counts.
-- 4. Tells the indexed members of the pools `crowded`, which few pools have. It costs a row or two for each of them,
--    100 at most, so whoever makes a crowd pays a transaction on the chain for as many.

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

-- Also replaces a foreign key, which would look up and lock each row's pool again and take an eighth of the
-- insertion's time. The pools are locked here, so none is deleted meanwhile. pools_deleted is the other half.
CREATE OR REPLACE FUNCTION transactions_inserted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  missing integer;
  crowded uuid[];
  wrong boolean;
BEGIN
  PERFORM FROM pools WHERE id IN (SELECT pool_id FROM added) ORDER BY id FOR NO KEY UPDATE;
  WITH changed AS MATERIALIZED (
    SELECT pool_id, owner_id,
      coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposited,
      coalesce(sum(amount) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawn,
      coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claimed,
      sum(pending) AS pending,
      coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposits,
      coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawals,
      coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claims,
      max(id::text COLLATE "C") FILTER (WHERE type = 'DEPOSIT') AS last_deposit_id,
      max(id::text COLLATE "C") FILTER (WHERE type = 'WITHDRAWAL') AS last_withdrawal_id,
      max(id::text COLLATE "C") FILTER (WHERE type = 'YIELD_CLAIM') AS last_claim_id,
      max(created_at) FILTER (WHERE type = 'YIELD_CLAIM') AS claimed_at
    FROM (
      SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
        CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END AS amount,
        CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END AS pending, 1 AS count
      FROM added r
    ) r GROUP BY pool_id, owner_id
  ), updated AS (
    UPDATE pools p SET
      balance = p.balance + c.deposited - c.withdrawn,
      pending_balance = p.pending_balance + c.pending,
      claimed_yield = p.claimed_yield + c.claimed,
      deposit_count = p.deposit_count + c.deposits,
      withdrawal_count = p.withdrawal_count + c.withdrawals,
      claim_count = p.claim_count + c.claims,
      last_deposit_id = greatest(p.last_deposit_id, c.last_deposit_id::uuid),
      last_withdrawal_id = greatest(p.last_withdrawal_id, c.last_withdrawal_id::uuid),
      last_claim_id = greatest(p.last_claim_id, c.last_claim_id::uuid),
      last_claimed_at = greatest(p.last_claimed_at, c.claimed_at),
      last_update = changed_at(p.last_update)
    FROM changed c WHERE p.id = c.pool_id AND p.owner_id = c.owner_id
    RETURNING p.id, p.type, p.contract_address AS contract, c.deposited, c.pending, p.owner_id,
      (p.balance > 0)::int - (p.balance - c.deposited + c.withdrawn > 0)::int AS active
  ), owners AS (
    INSERT INTO owner_totals AS t (owner_id, type, contract, writer, active)
    SELECT owner_id, type, contract, writer(), sum(active)
    FROM (SELECT owner_id, type, contract, active FROM updated WHERE active <> 0) c
    GROUP BY owner_id, type, contract ORDER BY owner_id, type, contract
    ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
      active = t.active + excluded.active
  ), totals AS (
    INSERT INTO pool_totals AS t (shard, type, contract, deposited, pending)
    SELECT pool_totals_shard(), type, contract, sum(deposited), sum(pending) FROM updated
    GROUP BY type, contract HAVING sum(deposited) <> 0 OR sum(pending) <> 0 ORDER BY type, contract
    ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET
      deposited = t.deposited + excluded.deposited, pending = t.pending + excluded.pending
  )
  SELECT (SELECT count(*) FROM changed) - (SELECT count(*) FROM updated), ARRAY(
    SELECT u.id FROM updated u CROSS JOIN LATERAL (
      SELECT FROM pool_members m WHERE m.pool_id = u.id AND m.indexed LIMIT 1) m)
  INTO missing, crowded;
  IF missing > 0 THEN
    RAISE EXCEPTION 'pool_id and owner_id must be those of a pool'
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
  END IF;
  SELECT bool_or(r.by_owner <> (r.account = u.address)) INTO wrong FROM added r JOIN users u ON u.id = r.owner_id;
  IF wrong THEN
    RAISE EXCEPTION 'by_owner must say whether the account is the owner''s'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'transactions_by_owner_check';
  END IF;
  INSERT INTO account_days AS a
    (address, day, contract, writer, deposited, pending, claimed, deposits, withdrawals, claims)
  SELECT address, (created_at AT TIME ZONE 'UTC')::date AS day, contract, writer(),
    coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0), sum(pending),
    coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0)
  FROM (
    SELECT r.account AS address, r.contract, r.created_at, r.type, r.amount, r.pending,
      CASE WHEN r.by_owner OR NOT EXISTS (
        SELECT FROM pool_members m WHERE m.pool_id = r.pool_id AND m.address = r.account)
      THEN r.count ELSE 0 END AS count
    FROM (
      SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
        p.contract_address::text AS contract,
        CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END AS amount,
        CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END AS pending, 1 AS count
      FROM added r JOIN pools p ON p.id = r.pool_id
    ) r
    UNION ALL
    SELECT u.address, r.contract, r.created_at, r.type, 0, 0, r.count
    FROM (
      SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
        p.contract_address::text AS contract,
        CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END AS amount,
        CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END AS pending, 1 AS count
      FROM added r JOIN pools p ON p.id = r.pool_id
    ) r JOIN users u ON u.id = r.owner_id WHERE NOT r.by_owner
  ) changes
  GROUP BY address, day, contract ORDER BY address, day, contract
  ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
    deposited = a.deposited + excluded.deposited,
    pending = a.pending + excluded.pending,
    claimed = a.claimed + excluded.claimed,
    deposits = a.deposits + excluded.deposits,
    withdrawals = a.withdrawals + excluded.withdrawals,
    claims = a.claims + excluded.claims;
  IF crowded <> '{}' THEN
    INSERT INTO member_counts AS c (address, type, writer, count)
    SELECT address, type, writer(), sum(count) FROM (
      SELECT m.address, r.type, r.count
      FROM (
        SELECT pool_id, type, sum(count) AS count FROM (
          SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
            CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END AS amount,
            CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END AS pending, 1 AS count
          FROM added r
        ) r WHERE pool_id = ANY(crowded) GROUP BY 1, 2
      ) r
      CROSS JOIN LATERAL (SELECT address FROM pool_members WHERE pool_id = r.pool_id AND indexed OFFSET 0) m) changes
    GROUP BY address, type HAVING sum(count) <> 0 ORDER BY address, type
    ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count;
    PERFORM refresh_streams(crowded);
  END IF;
  RETURN NULL;
END $$;

-- Totals that follow from transactions whose amount or status changed. The number of rows stays the same. 

CREATE OR REPLACE FUNCTION transactions_updated() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  missing integer;
  crowded uuid[];
BEGIN
  -- Most updates only fill in gas.
  IF EXISTS (SELECT FROM added r JOIN removed o ON o.id = r.id WHERE r.amount <> o.amount OR r.status <> o.status) THEN
    PERFORM FROM pools WHERE id IN (SELECT pool_id FROM added) ORDER BY id FOR NO KEY UPDATE;
    WITH changed AS MATERIALIZED (
      SELECT pool_id, owner_id,
        coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposited,
        coalesce(sum(amount) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawn,
        coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claimed,
        sum(pending) AS pending,
        coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposits,
        coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawals,
        coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claims,
        max(id::text COLLATE "C") FILTER (WHERE type = 'DEPOSIT') AS last_deposit_id,
        max(id::text COLLATE "C") FILTER (WHERE type = 'WITHDRAWAL') AS last_withdrawal_id,
        max(id::text COLLATE "C") FILTER (WHERE type = 'YIELD_CLAIM') AS last_claim_id,
        max(created_at) FILTER (WHERE type = 'YIELD_CLAIM') AS claimed_at
      FROM (
        SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
          CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END
            - CASE o.status WHEN 'EXPIRED' THEN 0 ELSE o.amount END AS amount,
          CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END
            - CASE WHEN o.status = 'PENDING' AND o.type = 'DEPOSIT' THEN o.amount ELSE 0 END AS pending,
          0 AS count
        FROM added r JOIN removed o ON o.id = r.id
        WHERE r.amount <> o.amount OR r.status <> o.status
      ) r GROUP BY pool_id, owner_id
    ), updated AS (
      UPDATE pools p SET
        balance = p.balance + c.deposited - c.withdrawn,
        pending_balance = p.pending_balance + c.pending,
        claimed_yield = p.claimed_yield + c.claimed,
        deposit_count = p.deposit_count + c.deposits,
        withdrawal_count = p.withdrawal_count + c.withdrawals,
        claim_count = p.claim_count + c.claims,
        last_update = changed_at(p.last_update)
      FROM changed c WHERE p.id = c.pool_id AND p.owner_id = c.owner_id
      RETURNING p.id, p.type, p.contract_address AS contract, c.deposited, c.pending, p.owner_id,
        (p.balance > 0)::int - (p.balance - c.deposited + c.withdrawn > 0)::int AS active
    ), owners AS (
      INSERT INTO owner_totals AS t (owner_id, type, contract, writer, active)
      SELECT owner_id, type, contract, writer(), sum(active)
      FROM (SELECT owner_id, type, contract, active FROM updated WHERE active <> 0) c
      GROUP BY owner_id, type, contract ORDER BY owner_id, type, contract
      ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
        active = t.active + excluded.active
    ), totals AS (
      INSERT INTO pool_totals AS t (shard, type, contract, deposited, pending)
      SELECT pool_totals_shard(), type, contract, sum(deposited), sum(pending) FROM updated
      GROUP BY type, contract HAVING sum(deposited) <> 0 OR sum(pending) <> 0 ORDER BY type, contract
      ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET
        deposited = t.deposited + excluded.deposited, pending = t.pending + excluded.pending
    )
    SELECT (SELECT count(*) FROM changed) - (SELECT count(*) FROM updated), ARRAY(
      SELECT u.id FROM updated u CROSS JOIN LATERAL (
        SELECT FROM pool_members m WHERE m.pool_id = u.id AND m.indexed LIMIT 1) m)
    INTO missing, crowded;
    INSERT INTO account_days AS a
      (address, day, contract, writer, deposited, pending, claimed, deposits, withdrawals, claims)
    SELECT address, (created_at AT TIME ZONE 'UTC')::date AS day, contract, writer(),
      coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0), sum(pending),
      coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0),
      coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0),
      coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0),
      coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0)
    FROM (
      SELECT r.account AS address, r.contract, r.created_at, r.type, r.amount, r.pending, 0 AS count
      FROM (
        SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
          p.contract_address::text AS contract,
          CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END
            - CASE o.status WHEN 'EXPIRED' THEN 0 ELSE o.amount END AS amount,
          CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END
            - CASE WHEN o.status = 'PENDING' AND o.type = 'DEPOSIT' THEN o.amount ELSE 0 END AS pending,
          0 AS count
        FROM added r JOIN removed o ON o.id = r.id JOIN pools p ON p.id = r.pool_id
        WHERE r.amount <> o.amount OR r.status <> o.status
      ) r
    ) changes
    GROUP BY address, day, contract ORDER BY address, day, contract
    ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
      deposited = a.deposited + excluded.deposited,
      pending = a.pending + excluded.pending,
      claimed = a.claimed + excluded.claimed,
      deposits = a.deposits + excluded.deposits,
      withdrawals = a.withdrawals + excluded.withdrawals,
      claims = a.claims + excluded.claims;
    IF crowded <> '{}' THEN
      PERFORM refresh_streams(crowded);
    END IF;
  END IF;
  RETURN NULL;
END $$;

-- Totals that follow from transactions that a reorganisation takes away. The newest transaction that is left is looked
-- up; the pool is locked by then, so other writers' changes are visible. For the steps see 31.

CREATE OR REPLACE FUNCTION transactions_deleted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  missing integer;
  crowded uuid[];
BEGIN
  PERFORM FROM pools WHERE id IN (SELECT pool_id FROM removed) ORDER BY id FOR NO KEY UPDATE;
  WITH changed AS MATERIALIZED (
    SELECT pool_id, owner_id,
      coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposited,
      coalesce(sum(amount) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawn,
      coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claimed,
      sum(pending) AS pending,
      coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposits,
      coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawals,
      coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claims,
      max(id::text COLLATE "C") FILTER (WHERE type = 'DEPOSIT') AS last_deposit_id,
      max(id::text COLLATE "C") FILTER (WHERE type = 'WITHDRAWAL') AS last_withdrawal_id,
      max(id::text COLLATE "C") FILTER (WHERE type = 'YIELD_CLAIM') AS last_claim_id,
      max(created_at) FILTER (WHERE type = 'YIELD_CLAIM') AS claimed_at
    FROM (
      SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
        -(CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END) AS amount,
        -(CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END) AS pending, -1 AS count
      FROM removed r
    ) r GROUP BY pool_id, owner_id
  ), updated AS (
    UPDATE pools p SET
      balance = p.balance + c.deposited - c.withdrawn,
      pending_balance = p.pending_balance + c.pending,
      claimed_yield = p.claimed_yield + c.claimed,
      deposit_count = p.deposit_count + c.deposits,
      withdrawal_count = p.withdrawal_count + c.withdrawals,
      claim_count = p.claim_count + c.claims,
      last_deposit_id = CASE WHEN c.deposits = 0 THEN p.last_deposit_id ELSE (
        SELECT x.id FROM transactions x WHERE x.pool_id = p.id AND x.type = 'DEPOSIT'
        ORDER BY x.id DESC LIMIT 1) END,
      last_withdrawal_id = CASE WHEN c.withdrawals = 0 THEN p.last_withdrawal_id ELSE (
        SELECT x.id FROM transactions x WHERE x.pool_id = p.id AND x.type = 'WITHDRAWAL'
        ORDER BY x.id DESC LIMIT 1) END,
      last_claim_id = CASE WHEN c.claims = 0 THEN p.last_claim_id ELSE (
        SELECT x.id FROM transactions x WHERE x.pool_id = p.id AND x.type = 'YIELD_CLAIM'
        ORDER BY x.id DESC LIMIT 1) END,
      last_claimed_at = CASE WHEN c.claims = 0 THEN p.last_claimed_at ELSE (
        SELECT max(x.created_at) FROM transactions x WHERE x.pool_id = p.id AND x.type = 'YIELD_CLAIM') END,
      last_update = changed_at(p.last_update)
    FROM changed c WHERE p.id = c.pool_id AND p.owner_id = c.owner_id
    RETURNING p.id, p.type, p.contract_address AS contract, c.deposited, c.pending, p.owner_id,
      (p.balance > 0)::int - (p.balance - c.deposited + c.withdrawn > 0)::int AS active
  ), owners AS (
    INSERT INTO owner_totals AS t (owner_id, type, contract, writer, active)
    SELECT owner_id, type, contract, writer(), sum(active)
    FROM (SELECT owner_id, type, contract, active FROM updated WHERE active <> 0) c
    GROUP BY owner_id, type, contract ORDER BY owner_id, type, contract
    ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
      active = t.active + excluded.active
  ), totals AS (
    INSERT INTO pool_totals AS t (shard, type, contract, deposited, pending)
    SELECT pool_totals_shard(), type, contract, sum(deposited), sum(pending) FROM updated
    GROUP BY type, contract HAVING sum(deposited) <> 0 OR sum(pending) <> 0 ORDER BY type, contract
    ON CONFLICT ON CONSTRAINT pool_totals_pkey DO UPDATE SET
      deposited = t.deposited + excluded.deposited, pending = t.pending + excluded.pending
  )
  SELECT (SELECT count(*) FROM changed) - (SELECT count(*) FROM updated), ARRAY(
    SELECT u.id FROM updated u CROSS JOIN LATERAL (
      SELECT FROM pool_members m WHERE m.pool_id = u.id AND m.indexed LIMIT 1) m)
  INTO missing, crowded;
  INSERT INTO account_days AS a
    (address, day, contract, writer, deposited, pending, claimed, deposits, withdrawals, claims)
  SELECT address, (created_at AT TIME ZONE 'UTC')::date AS day, contract, writer(),
    coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0), sum(pending),
    coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0),
    coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0)
  FROM (
    SELECT r.account AS address, r.contract, r.created_at, r.type, r.amount, r.pending,
      CASE WHEN r.by_owner OR NOT EXISTS (
        SELECT FROM pool_members m WHERE m.pool_id = r.pool_id AND m.address = r.account)
      THEN r.count ELSE 0 END AS count
    FROM (
      SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
        p.contract_address::text AS contract,
        -(CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END) AS amount,
        -(CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END) AS pending, -1 AS count
      FROM removed r JOIN pools p ON p.id = r.pool_id
    ) r
    UNION ALL
    SELECT u.address, r.contract, r.created_at, r.type, 0, 0, r.count
    FROM (
      SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
        p.contract_address::text AS contract,
        -(CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END) AS amount,
        -(CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END) AS pending, -1 AS count
      FROM removed r JOIN pools p ON p.id = r.pool_id
    ) r JOIN users u ON u.id = r.owner_id WHERE NOT r.by_owner
  ) changes
  GROUP BY address, day, contract ORDER BY address, day, contract
  ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
    deposited = a.deposited + excluded.deposited,
    pending = a.pending + excluded.pending,
    claimed = a.claimed + excluded.claimed,
    deposits = a.deposits + excluded.deposits,
    withdrawals = a.withdrawals + excluded.withdrawals,
    claims = a.claims + excluded.claims;
  IF crowded <> '{}' THEN
    INSERT INTO member_counts AS c (address, type, writer, count)
    SELECT address, type, writer(), sum(count) FROM (
      SELECT m.address, r.type, r.count
      FROM (
        SELECT pool_id, type, sum(count) AS count FROM (
          SELECT r.id, r.pool_id, r.owner_id, r.by_owner, r.account, r.type, r.created_at,
            -(CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END) AS amount,
            -(CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END) AS pending, -1 AS count
          FROM removed r
        ) r WHERE pool_id = ANY(crowded) GROUP BY 1, 2
      ) r
      CROSS JOIN LATERAL (SELECT address FROM pool_members WHERE pool_id = r.pool_id AND indexed OFFSET 0) m) changes
    GROUP BY address, type HAVING sum(count) <> 0 ORDER BY address, type
    ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count;
    PERFORM refresh_streams(crowded);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER transactions_inserting BEFORE INSERT ON transactions FOR EACH ROW
  WHEN (NEW.owner_id IS NULL OR NEW.by_owner IS NULL) EXECUTE FUNCTION transactions_inserting();
CREATE OR REPLACE TRIGGER transactions_inserted AFTER INSERT ON transactions
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT WHEN (creating() IS NOT TRUE)
  EXECUTE FUNCTION transactions_inserted();
CREATE OR REPLACE TRIGGER transactions_updated AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION transactions_updated();
CREATE OR REPLACE TRIGGER transactions_deleted AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION transactions_deleted();
