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

CREATE OR REPLACE FUNCTION pool_members_inserting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.indexed := NEW.role = 'MEMBER' AND EXISTS (SELECT FROM pool_members f
    WHERE NOT f.indexed AND f.role = 'MEMBER' AND f.address = NEW.address OFFSET few_memberships() - 1);
  RETURN NEW;
END $$;

-- A membership begins or ends. The update locks the pool: a payment that still saw the member has been committed by then.
CREATE OR REPLACE FUNCTION pool_members_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
  m CONSTANT pool_members := coalesce(NEW, OLD);
BEGIN
  UPDATE pools SET member_count = member_count + sign, last_update = changed_at(last_update) WHERE id = m.pool_id;
  -- It is not found while it is deleted itself.
  IF FOUND THEN
    IF m.role = 'OWNER' THEN
      RAISE EXCEPTION 'the owner cannot leave' USING ERRCODE = 'restrict_violation';
    END IF;
    -- What members have paid into the pool is listed as theirs until their membership ends, then as an outsider's.
    INSERT INTO account_days AS a (address, day, contract, writer, deposits, withdrawals, claims)
    SELECT m.address, (t.created_at AT TIME ZONE 'UTC')::date AS day, p.contract_address, writer(),
      -sign * count(*) FILTER (WHERE t.type = 'DEPOSIT'), -sign * count(*) FILTER (WHERE t.type = 'WITHDRAWAL'),
      -sign * count(*) FILTER (WHERE t.type = 'YIELD_CLAIM')
    FROM transactions t JOIN pools p ON p.id = t.pool_id
    WHERE t.account = m.address AND NOT t.by_owner AND t.pool_id = m.pool_id
    GROUP BY day, p.contract_address ORDER BY day
    ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
      deposits = a.deposits + excluded.deposits,
      withdrawals = a.withdrawals + excluded.withdrawals,
      claims = a.claims + excluded.claims;
  END IF;
  IF m.indexed THEN
    INSERT INTO member_counts AS c (address, type, writer, count)
    SELECT m.address, type, writer(), sign * sum(count) FROM (
      SELECT m.type::text AS type, 1 AS count
      UNION ALL SELECT k.type, k.count FROM pools p CROSS JOIN LATERAL (VALUES ('DEPOSIT', p.deposit_count),
        ('WITHDRAWAL', p.withdrawal_count), ('YIELD_CLAIM', p.claim_count)) AS k(type, count)
      WHERE p.id = m.pool_id) changes
    GROUP BY type HAVING sum(count) <> 0 ORDER BY type
    ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count;
    IF sign = 1 THEN
      PERFORM refresh_streams(ARRAY[m.pool_id]);
    ELSE
      DELETE FROM member_streams WHERE pool_id = m.pool_id AND address = m.address;
    END IF;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER pool_members_inserting BEFORE INSERT ON pool_members FOR EACH ROW
  WHEN (NEW.indexed IS NULL) EXECUTE FUNCTION pool_members_inserting();
CREATE OR REPLACE TRIGGER pool_members_inserted AFTER INSERT ON pool_members FOR EACH ROW
  WHEN (NEW.role = 'MEMBER' AND creating() IS NOT TRUE) EXECUTE FUNCTION pool_members_changed();
CREATE OR REPLACE TRIGGER pool_members_deleted AFTER DELETE ON pool_members
  FOR EACH ROW EXECUTE FUNCTION pool_members_changed();
