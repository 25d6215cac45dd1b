-- Deletes accounts: what is the service's own goes, what is the chain's stays.

-- Ends the account of an address at once: its sessions (by the trigger of users) and webhooks. The rest goes by
-- go_on_deleting, the user's row last, and only where nothing of the ledger names it.
-- Returns whether it stays.
CREATE OR REPLACE FUNCTION delete_account(whose text) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  person uuid;
  asked_at timestamptz;
BEGIN
  -- Webhooks and pools are made under this lock.
  SELECT id INTO person FROM users WHERE address = whose FOR UPDATE;
  DELETE FROM webhooks WHERE user_id = person;
  UPDATE users SET session_generation = session_generation + 1, created_at = now(), has_left = true WHERE id = person;
  -- All pools that are there were made before, whatever the clocks of their processes say.
  asked_at := greatest(clock_timestamp(), (SELECT p.created_at FROM pool_members m JOIN pools p ON p.id = m.pool_id
    WHERE m.address = whose AND m.role = 'OWNER' ORDER BY m.pool_id DESC LIMIT 1));
  INSERT INTO account_deletions AS d (address, user_id, requested_at) VALUES (whose, person, asked_at)
  ON CONFLICT ON CONSTRAINT account_deletions_pkey DO UPDATE SET user_id = coalesce(excluded.user_id, d.user_id),
    requested_at = excluded.requested_at, reached = DEFAULT, waits_until = DEFAULT;
  RETURN EXISTS (SELECT FROM pools WHERE owner_id = person)
    OR EXISTS (SELECT FROM cancelled_pools WHERE owner_id = person);
END $$;

-- A step of one deletion: some stored answers, some rows of modules, or some pools. Returns how many rows it looked
-- at; 0: none is left but those that wait for the indexer. Any of several, so that one that fails holds up no other.
CREATE OR REPLACE FUNCTION go_on_deleting(answers integer, memberships integer) RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  deletion account_deletions;
  belonging record;
  member record;
  looked_at integer := 0;
  from_here CONSTANT text := '0x' || md5(random()::text);
BEGIN
  -- The next one by the index, because ORDER BY random() would read all that wait at each step.
  SELECT * INTO deletion FROM account_deletions WHERE address >= from_here AND waits_until <= now()
  ORDER BY address LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    SELECT * INTO deletion FROM account_deletions WHERE waits_until <= now()
    ORDER BY address LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 0; END IF;
  END IF;

  -- What goes with the user's row goes before it, as one statement would not be bounded; so does what would name nobody.
  FOR belonging IN
    SELECT 'idempotency_keys'::regclass AS place, 'user_id' AS person, 'c' AS fate
    UNION ALL SELECT c.conrelid::regclass, a.attname, c.confdeltype
    FROM pg_constraint c
    JOIN pg_class t ON t.oid = c.conrelid
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f' AND c.confrelid = 'users'::regclass AND c.confdeltype IN ('c', 'n')
      -- Rows of two partitions may have one ctid. Each partition has the constraint too.
      AND t.relkind = 'r'
  LOOP
    EXECUTE format(
      CASE belonging.fate WHEN 'c' THEN 'DELETE FROM %1$s' ELSE 'UPDATE %1$s SET %2$I = NULL' END
        || ' WHERE ctid IN (SELECT ctid FROM %1$s WHERE %2$I = $1 AND created_at <= $2 LIMIT $3)',
      belonging.place, belonging.person) USING deletion.user_id, deletion.requested_at, answers;
    GET DIAGNOSTICS looked_at = ROW_COUNT;
    IF looked_at > 0 THEN RETURN looked_at; END IF;
  END LOOP;

  FOR member IN
    SELECT m.pool_id, m.role, p.created_at FROM pool_members m JOIN pools p ON p.id = m.pool_id
    WHERE m.address = deletion.address AND m.pool_id > deletion.reached ORDER BY m.pool_id LIMIT memberships
  LOOP
    looked_at := looked_at + 1;
    -- The address may have signed in again, and begun anew.
    IF member.created_at > deletion.requested_at THEN
      NULL;
    ELSIF member.role = 'OWNER' THEN
      IF cancel_pool(member.pool_id, deletion.address) = 'unknown' THEN
        -- Later, when the indexer knows what was paid. Others need not wait for that.
        UPDATE account_deletions SET reached = deletion.reached, waits_until = now() + interval '10 seconds'
        WHERE address = deletion.address;
        RETURN looked_at;
      END IF;
    ELSIF NOT EXISTS (SELECT FROM positions o WHERE o.pool_id = member.pool_id AND o.address = deletion.address)
      AND NOT EXISTS (SELECT FROM transactions t
        WHERE t.account = deletion.address AND NOT t.by_owner AND t.pool_id = member.pool_id) THEN
      DELETE FROM pool_members WHERE pool_id = member.pool_id AND address = deletion.address;
    END IF;
    deletion.reached := member.pool_id;
  END LOOP;
  IF looked_at = 0 THEN
    -- A payment that brings a pool back does not bring the member back.
    UPDATE cancelled_pools SET members = array_remove(members, deletion.address) WHERE id IN (
      SELECT id FROM cancelled_pools
      WHERE members @> ARRAY[deletion.address] AND created_at <= deletion.requested_at LIMIT answers);
    GET DIAGNOSTICS looked_at = ROW_COUNT;
    IF looked_at > 0 THEN RETURN looked_at; END IF;
    BEGIN
      DELETE FROM users WHERE id = deletion.user_id AND has_left;
    EXCEPTION WHEN foreign_key_violation THEN
      -- The ledger names it.
      NULL;
    END;
    DELETE FROM account_deletions WHERE address = deletion.address;
    -- Others may be left.
    RETURN 1;
  END IF;
  UPDATE account_deletions SET reached = deletion.reached WHERE address = deletion.address;
  RETURN looked_at;
END $$;
