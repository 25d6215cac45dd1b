-- Totals that follow from transactions that a reorganisation takes away. The newest transaction that is left is looked
-- up; the pool is locked by then, so other writers' changes are visible. For the steps see 31.

CREATE FUNCTION transactions_deleted() RETURNS trigger LANGUAGE plpgsql
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
