-- What follows from memberships: counts, who lists which payments, and the streams of indexed memberships.

-- Makes member_streams agree with the ledger, for all indexed members of these pools. The caller holds their locks. One
-- pool after the other, so that no plan can compare the rows of all with those of all.
CREATE OR REPLACE FUNCTION refresh_streams(changed uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  pool uuid;
BEGIN
  FOREACH pool IN ARRAY changed LOOP
    WITH streams AS MATERIALIZED (
      SELECT type::text, status::text, (array_agg(id ORDER BY id))[1] AS first_id,
        (array_agg(id ORDER BY id DESC))[1] AS last_id
      FROM transactions WHERE pool_id = pool AND status IN ('PENDING', 'EXPIRED') GROUP BY type, status
      UNION ALL
      SELECT k.type, 'CONFIRMED', (
        SELECT x.id FROM transactions x WHERE x.pool_id = pool AND x.type = k.type AND x.status = 'CONFIRMED'
        ORDER BY x.id ASC LIMIT 1), n.id
      FROM (VALUES ('DEPOSIT'), ('WITHDRAWAL'), ('YIELD_CLAIM')) AS k(type)
      CROSS JOIN LATERAL (
        SELECT x.id FROM transactions x WHERE x.pool_id = pool AND x.type = k.type AND x.status = 'CONFIRMED'
        ORDER BY x.id DESC LIMIT 1) n
    ), gone AS (
      DELETE FROM member_streams s WHERE s.pool_id = pool AND NOT EXISTS (
        SELECT FROM streams n WHERE n.type = s.type AND n.status = s.status)
    )
    INSERT INTO member_streams AS s (pool_id, address, type, status, first_id, last_id)
    SELECT pool, m.address, n.type, n.status, n.first_id, n.last_id
    FROM streams n CROSS JOIN pool_members m
    WHERE m.pool_id = pool AND m.indexed AND NOT EXISTS (SELECT FROM member_streams o
      WHERE o.pool_id = pool AND o.address = m.address AND o.type = n.type AND o.status = n.status
        AND o.first_id = n.first_id AND o.last_id = n.last_id)
    ON CONFLICT ON CONSTRAINT member_streams_pkey
      DO UPDATE SET first_id = excluded.first_id, last_id = excluded.last_id;
  END LOOP;
END $$;

-- An indexed membership begins (1) or ends (-1): the pool, and all its transactions. The caller holds its lock. A pool
-- that is deleted has no transactions.
CREATE OR REPLACE FUNCTION count_membership(pool uuid, member text, pool_type text, sign integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO member_counts AS c (address, type, writer, count)
  SELECT address, type, writer(), sum(count) FROM (
    SELECT member AS address, pool_type AS type, sign AS count
    UNION ALL
    SELECT member, k.type, sign * k.count FROM pools p CROSS JOIN LATERAL (VALUES
        ('DEPOSIT', p.deposit_count), ('WITHDRAWAL', p.withdrawal_count), ('YIELD_CLAIM', p.claim_count)) AS k(type,
        count)
    WHERE p.id = pool) changes
  GROUP BY address, type HAVING sum(count) <> 0 ORDER BY address, type
  ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count;
END $$;

-- A new member lists his own payments into the pool as a member from now on; a member who leaves, as an outsider. The
-- caller holds the pool's lock, which blocks payments meanwhile. The cost grows with the address's payments into the
-- pool.
CREATE OR REPLACE FUNCTION move_outside(pool uuid, member text, sign integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO account_days AS a (address, day, contract, writer, deposits, withdrawals, claims)
  SELECT member, (t.created_at AT TIME ZONE 'UTC')::date AS day, p.contract_address, writer(),
    sign * count(*) FILTER (WHERE t.type = 'DEPOSIT'), sign * count(*) FILTER (WHERE t.type = 'WITHDRAWAL'),
    sign * count(*) FILTER (WHERE t.type = 'YIELD_CLAIM')
  FROM transactions t JOIN pools p ON p.id = t.pool_id
  WHERE t.account = member AND NOT t.by_owner AND t.pool_id = pool
  GROUP BY day, p.contract_address ORDER BY day
  ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
    deposits = a.deposits + excluded.deposits,
    withdrawals = a.withdrawals + excluded.withdrawals,
    claims = a.claims + excluded.claims;
END $$;

CREATE OR REPLACE FUNCTION pool_members_inserting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.indexed := NEW.role = 'MEMBER' AND EXISTS (SELECT FROM pool_members f
    WHERE NOT f.indexed AND f.role = 'MEMBER' AND f.address = NEW.address OFFSET few_memberships() - 1);
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION pool_members_inserted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE pools SET member_count = member_count + 1, last_update = changed_at(last_update) WHERE id = NEW.pool_id;
  PERFORM move_outside(NEW.pool_id, NEW.address, -1);
  IF NEW.indexed THEN
    PERFORM count_membership(NEW.pool_id, NEW.address, NEW.type, 1);
    PERFORM refresh_streams(ARRAY[NEW.pool_id]);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION pool_members_deleting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM pools WHERE id = OLD.pool_id) THEN
    RAISE EXCEPTION 'the owner cannot leave' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN OLD;
END $$;

-- The update locks the pool. A payment that still saw the member has been committed by then, so it is counted.
CREATE OR REPLACE FUNCTION pool_members_deleted() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE pools SET member_count = member_count - 1, last_update = changed_at(last_update) WHERE id = OLD.pool_id;
  -- Not needed when the pool itself is deleted.
  IF FOUND THEN PERFORM move_outside(OLD.pool_id, OLD.address, 1); END IF;
  IF OLD.indexed THEN
    DELETE FROM member_streams WHERE pool_id = OLD.pool_id AND address = OLD.address;
    PERFORM count_membership(OLD.pool_id, OLD.address, OLD.type, -1);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER pool_members_inserting BEFORE INSERT ON pool_members FOR EACH ROW
  WHEN (NEW.indexed IS NULL) EXECUTE FUNCTION pool_members_inserting();
CREATE OR REPLACE TRIGGER pool_members_inserted AFTER INSERT ON pool_members FOR EACH ROW
  WHEN (NEW.role = 'MEMBER' AND creating() IS NOT TRUE) EXECUTE FUNCTION pool_members_inserted();
CREATE OR REPLACE TRIGGER pool_members_deleting BEFORE DELETE ON pool_members
  FOR EACH ROW WHEN (OLD.role = 'OWNER') EXECUTE FUNCTION pool_members_deleting();
CREATE OR REPLACE TRIGGER pool_members_deleted AFTER DELETE ON pool_members
  FOR EACH ROW WHEN (OLD.role = 'MEMBER') EXECUTE FUNCTION pool_members_deleted();
