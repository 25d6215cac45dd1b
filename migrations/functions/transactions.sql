-- What follows from transactions: totals, events, and the submissions that they end or begin. Whatever is derived from the
-- ledger is kept by triggers, so that no writer can change the ledger without it. A statement touches each pool and each
-- day of an account once. The cost of a transaction does not depend on the number of the pool's members, except of those
-- whose membership is indexed.
--
-- Others decide how many memberships a person has. So the first few of an address are looked up by whoever lists them, and
-- all later ones are indexed: member_streams has the pool's first and newest transactions for each of them, and
-- member_counts adds them up. It is decided when a membership begins, and never changes. Readers take both kinds together.
--
-- Locks are always taken in this order: pools by id, pool_totals, owner_totals by key, account_days by key,
-- member_counts by key. Rows of member_streams and the counts of a pool's memberships change only under the pool's
-- lock. The indexer and all other writers use different rows of these sums, so POST /pools never waits for a batch of
-- events.

CREATE OR REPLACE FUNCTION transaction_topic(type text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE type WHEN 'DEPOSIT' THEN 'deposit.confirmed' WHEN 'WITHDRAWAL' THEN 'withdrawal.confirmed'
    WHEN 'YIELD_CLAIM' THEN 'yield.claimed' END
$$;

-- Replaces a foreign key to pools, which would take an eighth of the insertion's time; pools_changed is the other half.
-- Its plans are generic: to plan a statement for the arrays of each call would take longer than to run it. Functions may
-- have a row of `transactions` neither as argument nor as variable, as the table can be exchanged for a partitioned one
-- (deploy/partitions).
CREATE OR REPLACE FUNCTION transactions_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- Whether rows come, go or stay.
  sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 WHEN 'DELETE' THEN -1 ELSE 0 END;
  first CONSTANT bigint := published_from();
  -- What changes, summed up by pool, account, type and day: sums without expired deposits, and the part of them that is not
  -- on the chain.
  pool_ids uuid[];
  owner_ids uuid[];
  owned boolean[];
  accounts text[] COLLATE "C";
  types text[] COLLATE "C";
  days date[];
  amounts numeric[];
  pendings numeric[];
  -- The number of rows that come or go, their newest id and their latest time. Null of an update.
  counts bigint[];
  last_ids text[] COLLATE "C";
  times timestamptz[];
  missing integer;
  -- Pools with indexed members. They are locked by then, so no membership begins or ends meanwhile.
  crowded uuid[];
BEGIN
  -- First the events. `final`: whether no reorganisation can take one back any more, as of now.
  IF TG_OP = 'UPDATE' THEN
    -- Most updates only fill in gas. No nested loop can do a full join, here and below: the session's first call, of one
    -- row perhaps, decides the plan of all later ones.
    IF EXISTS (SELECT FROM changed r FULL JOIN former o ON o.id = r.id WHERE r.status IS DISTINCT FROM o.status) THEN
      -- By step: 1 and 2 take back that it was confirmed or expired, and show it as it was; 3 and 4 say that it is.
      INSERT INTO outbox_staged (direction, blocks, logs, items)
      SELECT direction, array_agg(block), array_agg(log), array_agg(json_strip_nulls(event))
      FROM (
        SELECT step, direction, (row_number() OVER () - 1) / 1000 AS n,
          CASE WHEN direction <> 0 THEN x.block_number END AS block,
          CASE WHEN direction <> 0 THEN x.log_index END AS log,
          json_build_object('topic', CASE WHEN step > 2 THEN topic ELSE 'transaction.reverted' END,
            'occurredAt', iso(CASE step WHEN 3 THEN coalesce(r.confirmed_at, r.created_at) ELSE clock_timestamp() END),
            'reverted', CASE WHEN step < 3 THEN topic END, 'poolId', r.pool_id, 'transactionId', r.id,
            'transactionType', r.type, 'txHash', x.tx_hash, 'blockNumber', x.block_number, 'logIndex', x.log_index,
            'account', r.account, 'amount', x.amount::text, 'final', CASE step WHEN 3 THEN
              coalesce(x.block_number <= (SELECT finalized_number FROM chain_cursor), false) END) AS event
        FROM changed r FULL JOIN former o ON o.id = r.id
        CROSS JOIN LATERAL (SELECT CASE WHEN r.status = 'PENDING' THEN CASE o.status WHEN 'CONFIRMED' THEN 1 ELSE 2 END
          WHEN r.status = 'CONFIRMED' THEN 3 WHEN o.status = 'PENDING' THEN 4 END AS step) s
        CROSS JOIN LATERAL (SELECT (ARRAY[-1, 0, 1, 0])[step] AS direction,
          CASE WHEN step IN (1, 3) THEN transaction_topic(r.type) ELSE 'deposit.expired' END AS topic) k
        CROSS JOIN LATERAL (
          SELECT o.tx_hash, o.block_number, o.log_index, o.amount WHERE step < 3
          UNION ALL SELECT r.tx_hash, r.block_number, r.log_index, r.amount WHERE step > 2) x
        WHERE r.status IS DISTINCT FROM o.status AND (x.block_number < first) IS NOT TRUE
      ) events
      GROUP BY step, direction, n ORDER BY step;
      -- A payment ends its submission. One that a reorganisation takes back is on its way again, whoever submitted its hash.
      DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM changed WHERE status = 'CONFIRMED');
      -- It was on the chain: only the chain can say that it will not come again.
      INSERT INTO submissions (transaction_id, account, hash, at, check_at, known)
      SELECT r.id, r.account, o.tx_hash, now(), now() + interval '20 seconds', true
      FROM changed r FULL JOIN former o ON o.id = r.id
      WHERE coalesce(o.status = 'CONFIRMED' AND r.status <> 'CONFIRMED' AND r.type = 'DEPOSIT', false)
      ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET hash = excluded.hash, at = excluded.at, known = true,
        sender = NULL, nonce = NULL;
      PERFORM stage_submitted(ARRAY(SELECT s.transaction_id FROM submissions s WHERE s.transaction_id = ANY (ARRAY(
        SELECT r.id FROM changed r FULL JOIN former o ON o.id = r.id
        WHERE coalesce(o.status = 'EXPIRED' AND r.status = 'PENDING', false)))));
    END IF;
    SELECT array_agg(pool_id), array_agg(owner_id), array_agg(by_owner), array_agg(account), array_agg(type),
      array_agg(day), array_agg(amount), array_agg(pending)
    INTO pool_ids, owner_ids, owned, accounts, types, days, amounts, pendings
    FROM (
      SELECT r.pool_id, r.owner_id, r.by_owner, r.account::text, r.type::text,
        (r.created_at AT TIME ZONE 'UTC')::date AS day,
        sum(CASE r.status WHEN 'EXPIRED' THEN 0 ELSE r.amount END
          - CASE o.status WHEN 'EXPIRED' THEN 0 ELSE o.amount END) AS amount,
        sum(CASE WHEN r.status = 'PENDING' AND r.type = 'DEPOSIT' THEN r.amount ELSE 0 END
          - CASE WHEN o.status = 'PENDING' AND o.type = 'DEPOSIT' THEN o.amount ELSE 0 END) AS pending
      FROM changed r FULL JOIN former o ON o.id = r.id
      WHERE (r.amount, r.status) IS DISTINCT FROM (o.amount, o.status)
      GROUP BY 1, 2, 3, 4, 5, 6) sums;
  ELSE
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT sign, array_agg(r.block_number), array_agg(r.log_index), array_agg(json_strip_nulls(json_build_object(
      'topic', CASE sign WHEN 1 THEN transaction_topic(r.type) ELSE 'transaction.reverted' END,
      'occurredAt', iso(CASE sign WHEN 1 THEN coalesce(r.confirmed_at, r.created_at) ELSE clock_timestamp() END),
      'reverted', CASE sign WHEN -1 THEN transaction_topic(r.type) END, 'poolId', r.pool_id, 'transactionId', r.id,
      'transactionType', r.type, 'txHash', r.tx_hash, 'blockNumber', r.block_number, 'logIndex', r.log_index,
      'account', r.account, 'amount', r.amount::text, 'final', CASE sign WHEN 1 THEN
        coalesce(r.block_number <= (SELECT finalized_number FROM chain_cursor), false) END)))
    FROM changed r WHERE r.status = 'CONFIRMED' AND (r.block_number < first) IS NOT TRUE
    GROUP BY r.block_number / 64;
    IF TG_OP = 'DELETE' THEN
      DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM changed WHERE status <> 'CONFIRMED');
    END IF;
    SELECT array_agg(pool_id), array_agg(owner_id), array_agg(by_owner), array_agg(account), array_agg(type),
      array_agg(day), array_agg(amount), array_agg(pending), array_agg(count), array_agg(last_id), array_agg(last_at)
    INTO pool_ids, owner_ids, owned, accounts, types, days, amounts, pendings, counts, last_ids, times
    FROM (
      SELECT pool_id, owner_id, by_owner, account::text, type::text, (created_at AT TIME ZONE 'UTC')::date AS day,
        sign * sum(CASE status WHEN 'EXPIRED' THEN 0 ELSE amount END) AS amount,
        sign * sum(CASE WHEN status = 'PENDING' AND type = 'DEPOSIT' THEN amount ELSE 0 END) AS pending,
        sign * count(*) AS count, max(id::text COLLATE "C") AS last_id, max(created_at) AS last_at
      FROM changed GROUP BY 1, 2, 3, 4, 5, 6) sums;
  END IF;
  IF pool_ids IS NULL THEN RETURN NULL; END IF;

  PERFORM FROM pools WHERE id = ANY(pool_ids) ORDER BY id FOR NO KEY UPDATE;
  -- Of parts that nothing reads PostgreSQL runs the last one first.
  WITH changes AS MATERIALIZED (
    SELECT pool_id, owner_id,
      coalesce(sum(amount) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposited,
      coalesce(sum(amount) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawn,
      coalesce(sum(amount) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claimed,
      sum(pending) AS pending,
      coalesce(sum(count) FILTER (WHERE type = 'DEPOSIT'), 0) AS deposits,
      coalesce(sum(count) FILTER (WHERE type = 'WITHDRAWAL'), 0) AS withdrawals,
      coalesce(sum(count) FILTER (WHERE type = 'YIELD_CLAIM'), 0) AS claims,
      (max(last_id) FILTER (WHERE type = 'DEPOSIT'))::uuid AS deposit_id,
      (max(last_id) FILTER (WHERE type = 'WITHDRAWAL'))::uuid AS withdrawal_id,
      (max(last_id) FILTER (WHERE type = 'YIELD_CLAIM'))::uuid AS claim_id,
      max(last_at) FILTER (WHERE type = 'YIELD_CLAIM') AS claimed_at
    FROM unnest(pool_ids, owner_ids, types, amounts, pendings, counts, last_ids, times)
      AS r (pool_id, owner_id, type, amount, pending, count, last_id, last_at)
    GROUP BY pool_id, owner_id
  ), updated AS (
    -- After a deletion the newest transaction is looked up. The pool is locked, so other writers' changes are visible.
    UPDATE pools p SET
      balance = p.balance + c.deposited - c.withdrawn,
      pending_balance = p.pending_balance + c.pending,
      claimed_yield = p.claimed_yield + c.claimed,
      deposit_count = p.deposit_count + c.deposits,
      withdrawal_count = p.withdrawal_count + c.withdrawals,
      claim_count = p.claim_count + c.claims,
      last_deposit_id = CASE WHEN c.deposits < 0 THEN (SELECT x.id FROM transactions x
        WHERE x.pool_id = p.id AND x.type = 'DEPOSIT' ORDER BY x.id DESC LIMIT 1)
        ELSE greatest(p.last_deposit_id, c.deposit_id) END,
      last_withdrawal_id = CASE WHEN c.withdrawals < 0 THEN (SELECT x.id FROM transactions x
        WHERE x.pool_id = p.id AND x.type = 'WITHDRAWAL' ORDER BY x.id DESC LIMIT 1)
        ELSE greatest(p.last_withdrawal_id, c.withdrawal_id) END,
      last_claim_id = CASE WHEN c.claims < 0 THEN (SELECT x.id FROM transactions x
        WHERE x.pool_id = p.id AND x.type = 'YIELD_CLAIM' ORDER BY x.id DESC LIMIT 1)
        ELSE greatest(p.last_claim_id, c.claim_id) END,
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
  IF TG_OP = 'INSERT' AND missing > 0 THEN
    RAISE EXCEPTION 'pool_id and owner_id must be those of a pool'
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transactions_pool_id_fkey';
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
  FROM unnest(pool_ids, owner_ids, owned, accounts, types, days, amounts, pendings, counts)
    AS r (pool_id, owner_id, by_owner, account, type, day, paid, unconfirmed, rows)
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
    FROM (SELECT pool_id, type, sum(count) AS count FROM unnest(pool_ids, types, counts) AS r (pool_id, type, count)
      WHERE sign <> 0 AND pool_id = ANY(crowded) GROUP BY 1, 2) r
    CROSS JOIN LATERAL (SELECT address FROM pool_members WHERE pool_id = r.pool_id AND indexed OFFSET 0) m
    GROUP BY m.address, r.type ORDER BY m.address, r.type
    ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count;
    PERFORM refresh_streams(crowded);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER transactions_inserted AFTER INSERT ON transactions
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (creating() IS NOT TRUE)
  EXECUTE FUNCTION transactions_changed();
CREATE OR REPLACE TRIGGER transactions_updated AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS changed OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION transactions_changed();
CREATE OR REPLACE TRIGGER transactions_deleted AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION transactions_changed();
