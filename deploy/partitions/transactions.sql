-- Splits `transactions` by time, online. See deploy/scaling/partitions.md for when this pays.
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/partitions/transactions.sql
--   psql "$DATABASE_URL" -c "CALL split_transactions('2027-01-01T00:00Z')"
--
-- The first call makes the table the first partition of a partitioned one, the later calls close the newest partition.
-- Rows from the given time on go to a new partition, which has no upper end, so an insert always finds one.
-- Ids are UUIDv7: a time is a position among them.

CREATE OR REPLACE FUNCTION uuid_from(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Others queue behind the session that waits for this lock, so it gives up soon, and tries again for a minute.
CREATE OR REPLACE PROCEDURE lock_transactions() LANGUAGE plpgsql AS $$
BEGIN
  FOR attempt IN 1..60 LOOP
    BEGIN
      PERFORM set_config('lock_timeout', '300ms', true);
      LOCK TABLE transactions IN ACCESS EXCLUSIVE MODE;
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(1);
    END;
  END LOOP;
  RAISE EXCEPTION 'others have used the table all the time'
    USING HINT = 'Call again: until then the constraint below_boundary may refuse rows from the boundary on.';
END $$;

-- Not to be called in a transaction, because it commits between its steps. Checking the existing rows may take minutes,
-- and stops neither reads nor writes. The steps before and after lock the table for some milliseconds.
CREATE OR REPLACE PROCEDURE split_transactions(boundary timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  bound uuid := uuid_from(boundary);
  partitioned boolean := (SELECT relkind = 'p' FROM pg_class WHERE oid = 'transactions'::regclass);
  newest regclass := 'transactions'::regclass;
  lower text := 'MINVALUE';
  fresh text := 'transactions_from_' || to_char(boundary AT TIME ZONE 'UTC', 'YYYYMMDD');
  former text;
  each record;
  checked boolean := true;
BEGIN
  -- Until the last step a row beyond the boundary is refused.
  IF boundary < now() + interval '1 day' THEN
    RAISE EXCEPTION 'the boundary must be at least a day ahead';
  END IF;
  IF partitioned THEN
    SELECT i.inhrelid::regclass, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \((.*)\) TO \(MAXVALUE\)')
    INTO STRICT newest, lower FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'transactions'::regclass AND pg_get_expr(c.relpartbound, c.oid) LIKE '%TO (MAXVALUE)';
  END IF;

  CALL lock_transactions();
  -- Proves that the rows are below the boundary, so that attaching the table need not read it.
  EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS below_boundary', newest);
  EXECUTE format('ALTER TABLE %s ADD CONSTRAINT below_boundary CHECK (id < %L) NOT VALID', newest, bound);
  COMMIT;
  BEGIN
    EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT below_boundary', newest);
  EXCEPTION WHEN check_violation THEN
    checked := false;
  END;
  COMMIT;

  CALL lock_transactions();
  IF NOT checked THEN
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT below_boundary', newest);
    COMMIT;
    RAISE EXCEPTION 'there are transactions after the boundary';
  END IF;
  IF partitioned THEN
    EXECUTE format('ALTER TABLE transactions DETACH PARTITION %s', newest);
  ELSE
    former := 'transactions_first';
    EXECUTE format('ALTER TABLE transactions RENAME TO %I', former);
    EXECUTE format('CREATE TABLE transactions (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS)
      PARTITION BY RANGE (id)', former);
    ALTER TABLE transactions DROP CONSTRAINT below_boundary;
    EXECUTE format('COMMENT ON TABLE transactions IS %L', obj_description(newest, 'pg_class'));
    EXECUTE format('ALTER TABLE transactions OWNER TO %I', (SELECT relowner::regrole FROM pg_class WHERE oid = newest));
    -- The new table takes the names of the indexes, and each old one becomes a part of its namesake.
    FOR each IN SELECT c.relname, i.indexrelid::regclass AS name, pg_get_indexdef(i.indexrelid) AS text, i.indisprimary
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = newest
    LOOP
      EXECUTE format('ALTER INDEX %s RENAME TO %I', each.name, each.relname || '_first');
      EXECUTE CASE WHEN each.indisprimary THEN 'ALTER TABLE transactions ADD CONSTRAINT transactions_pkey PRIMARY KEY (id)'
        ELSE replace(each.text, '.' || former || ' ', '.transactions ') END;
    END LOOP;
    FOR each IN SELECT tgname, tgenabled, pg_get_triggerdef(oid) AS text FROM pg_trigger
      WHERE tgrelid = newest AND NOT tgisinternal
    LOOP
      EXECUTE format('DROP TRIGGER %I ON %s', each.tgname, newest);
      -- A disabled one waits to be dropped.
      IF each.tgenabled <> 'D' THEN EXECUTE replace(each.text, '.' || former || ' ', '.transactions '); END IF;
    END LOOP;
    FOR each IN SELECT grantee, privilege_type FROM pg_class, aclexplode(relacl) WHERE oid = newest AND grantee <> relowner
    LOOP
      EXECUTE format('GRANT %s ON transactions TO %s', each.privilege_type,
        CASE each.grantee WHEN 0 THEN 'PUBLIC' ELSE each.grantee::regrole::text END);
    END LOOP;
    FOR each IN SELECT attname, grantee, privilege_type FROM pg_attribute, aclexplode(attacl)
      WHERE attrelid = newest AND NOT attisdropped
    LOOP
      EXECUTE format('GRANT %s (%I) ON transactions TO %s', each.privilege_type, each.attname,
        CASE each.grantee WHEN 0 THEN 'PUBLIC' ELSE each.grantee::regrole::text END);
    END LOOP;
  END IF;
  EXECUTE format('ALTER TABLE transactions ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%L)', newest, lower, bound);
  EXECUTE format('ALTER TABLE %s DROP CONSTRAINT below_boundary', newest);
  EXECUTE format('CREATE TABLE %I PARTITION OF transactions FOR VALUES FROM (%L) TO (MAXVALUE) WITH (fillfactor = 90)',
    fresh, bound);
  COMMIT;
  -- Autovacuum analyzes partitions, but never the whole.
  ANALYZE transactions;
END $$;
