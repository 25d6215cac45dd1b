-- Who may do what. Every migration ends with this, in its transaction, and `migrate.js roles` runs it alone. Only roles
-- that exist get anything (deploy/postgres/roles.sql makes them): an installation may have one account for everything.
--
-- owner       runs the migrations, and owns what they make
-- api         what requests write, and what the API does by the way: events, webhooks, rows that expire
-- indexer     what the chain says; temporary tables, in which it verifies continuously
-- operator    replay, rewind, verify, repairs: all rows, but no definition. TRUNCATE is the right to repair what is
--             derived (refuse_write), and temporary tables are what a replay computes in
-- read_only   people and reports; no secrets
--
-- UPDATE (created_at), (begun_at) or (cancelled_at) is the right to lock a row: triggers refuse to change that column. This runs after
-- each migration of a new database too, so only columns that exist by then are granted.
--
-- What is listed below is restricted. Any other table or view, such as a module's own, is for the API to read and write,
-- for operators to read, and closed to all others; what its migration grants beside that stays.

DO $privileges$
DECLARE
  given record;
  listed oid[] := '{}';
  privilege text;
  columns text;
  role name;
  roles CONSTANT name[] := ARRAY(
    SELECT rolname FROM pg_roles
    WHERE rolname IN ('savings_api', 'savings_indexer', 'savings_operator', 'savings_read_only') ORDER BY rolname);
  defined regprocedure;
BEGIN
  -- What runs as its owner is for triggers of ours, and for those who are named below.
  FOR defined IN
    SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      AND (prosecdef OR proname = 'after_restore') AND proowner = current_user::regrole
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', defined);
  END LOOP;
  IF roles = '{}' THEN RETURN; END IF;

  -- With either a caller could make a function or a trigger of his own.
  REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
  FOREACH role IN ARRAY roles LOOP
    EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', role);
    IF role IN ('savings_indexer', 'savings_operator') THEN
      EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO %I', current_database(), role);
    END IF;
  END LOOP;

  -- Otherwise every role that can connect could hold the locks of others. Only a superuser can revoke this from PUBLIC.
  IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
    FOR given IN
      SELECT p.oid::regprocedure AS function, r.rolname AS role
      FROM pg_proc p CROSS JOIN pg_roles r
      WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname ~ '^pg_(try_)?advisory_'
        AND (r.rolname = ANY (roles) AND r.rolname <> 'savings_read_only'
          OR r.oid IN (SELECT relowner FROM pg_class WHERE relnamespace = 'public'::regnamespace))
    LOOP
      EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', given.function);
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', given.function, given.role);
    END LOOP;
  END IF;

  -- One row for each table and view. Operators have all rights to the rows of all.
  FOR given IN
    SELECT to_regclass('public.' || name) AS relation, r.role, r.privileges
    FROM (VALUES
      -- name, api, indexer, read_only
      ('users', 'SELECT, INSERT, UPDATE', 'SELECT', 'SELECT'),
      ('nonces', 'SELECT, INSERT, UPDATE, DELETE', '', ''),
      ('session_endings', 'SELECT, INSERT, UPDATE, DELETE', '', 'SELECT'),
      ('idempotency_keys', 'SELECT, INSERT, UPDATE, DELETE', '', ''),
      ('event_tickets', 'SELECT, INSERT, UPDATE, DELETE', '', ''),

      ('pools', 'SELECT, UPDATE (auto_compound, last_update)', 'SELECT, UPDATE (created_at)', 'SELECT'),
      ('pool_members', 'SELECT, DELETE', 'SELECT', 'SELECT'),
      ('new_pools', 'SELECT, INSERT', '', ''),
      ('cancelled_pools', 'SELECT, UPDATE (cancelled_at), DELETE', 'SELECT', 'SELECT'),
      ('transactions', 'SELECT, UPDATE (created_at)', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('yield_accruals', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('submissions', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),

      ('account_days', 'SELECT', 'SELECT', 'SELECT'),
      ('owner_totals', 'SELECT', 'SELECT', 'SELECT'),
      ('pool_totals', 'SELECT', 'SELECT', 'SELECT'),
      ('member_streams', 'SELECT', 'SELECT', 'SELECT'),
      ('member_counts', 'SELECT', 'SELECT', 'SELECT'),

      ('chain_cursor', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('chain_contracts', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('chain_contracts_apart', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('chain_facts', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('chain_tokens', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('chain_proofs', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('chain_blocks', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('chain_events', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('pool_names', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('share_holdings', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('share_totals', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('share_prices', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('receipt_waits', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('set_aside_counts', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('positions', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('pool_weights', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('accrual_rates', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('position_journal', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('lottery_draws', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('lottery_tickets', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('lottery_totals', 'SELECT', 'SELECT', 'SELECT'),
      ('circles', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('circle_members', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('circle_rounds', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),

      -- Triggers add events; a consumer takes them, and removes old ones.
      ('outbox', 'SELECT, DELETE', 'SELECT', 'SELECT'),
      ('outbox_staged', '', '', ''),
      ('outbox_consumers', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('outbox_set_aside', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT'),
      ('outbox_removed', 'SELECT, UPDATE', 'SELECT', 'SELECT'),
      ('webhooks', 'SELECT, INSERT, UPDATE, DELETE', '', ''),
      ('webhook_events', 'SELECT, INSERT, UPDATE, DELETE', '', 'SELECT'),
      ('webhook_crowds', 'SELECT, INSERT, UPDATE, DELETE', '', 'SELECT'),
      ('webhook_deliveries', 'SELECT, INSERT, UPDATE, DELETE', '', 'SELECT'),

      ('migrations', 'SELECT', 'SELECT', 'SELECT'),
      ('required_migrations', 'SELECT', 'SELECT', 'SELECT'),
      ('verify_walks', 'SELECT', 'SELECT, INSERT, UPDATE', 'SELECT'),
      ('account_deletions', 'SELECT', '', ''),
      ('operator_records', 'SELECT, UPDATE (begun_at), DELETE', '', 'SELECT')
    ) AS t (name, api, indexer, read_only) CROSS JOIN LATERAL (VALUES
      ('savings_api', t.api),
      ('savings_indexer', t.indexer),
      ('savings_read_only', t.read_only),
      ('savings_operator', CASE WHEN name IN ('migrations', 'required_migrations') THEN 'SELECT'
        ELSE 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE' END)
    ) AS r (role, privileges)
    WHERE r.role = ANY (roles) AND to_regclass('public.' || name) IS NOT NULL
  LOOP
    listed := listed || given.relation::oid;
    EXECUTE format('REVOKE ALL ON %s FROM %I', given.relation, given.role);
    FOREACH privilege IN ARRAY regexp_split_to_array(given.privileges, ', (?![^(]*[)])') LOOP
      IF privilege LIKE '%(%' THEN
        SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
        WHERE attrelid = given.relation AND attnum > 0 AND NOT attisdropped
          AND attname = ANY (string_to_array(substring(privilege FROM '[(](.*)[)]'), ', '));
        privilege := split_part(privilege, ' (', 1) || ' (' || columns || ')';
      END IF;
      IF privilege <> '' THEN
        EXECUTE format('GRANT %s ON %s TO %I', privilege, given.relation, given.role);
      END IF;
    END LOOP;
  END LOOP;

  -- Partitions of what is listed are reached through their table alone. A view could change what its owner may.
  FOR given IN
    SELECT c.oid::regclass AS relation, r.role, r.privileges, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind
    FROM pg_class c CROSS JOIN LATERAL (VALUES
      ('savings_api', CASE WHEN c.relkind = 'S' THEN 'USAGE, SELECT' WHEN c.relkind IN ('v', 'm') THEN 'SELECT'
        ELSE 'SELECT, INSERT, UPDATE, DELETE' END),
      ('savings_operator', 'SELECT')
    ) AS r (role, privileges)
    WHERE r.role = ANY (roles) AND c.relnamespace = 'public'::regnamespace AND pg_has_role(c.relowner, 'USAGE')
      AND c.relkind IN ('r', 'p', 'f', 'v', 'm', 'S')
      AND NOT c.oid = ANY (listed) AND NOT coalesce(pg_partition_root(c.oid)::oid = ANY (listed), false)
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND (d.deptype = 'e'
        OR d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (listed) AND d.deptype IN ('a', 'i')))
  LOOP
    EXECUTE format('GRANT %s ON %s %s TO %I', given.privileges, given.kind, given.relation, given.role);
  END LOOP;

  FOR given IN
    SELECT p.oid::regprocedure AS function, f.role
    FROM (VALUES
      ('cancel_pool', 'savings_api'),
      ('cancel_pool', 'savings_operator'),
      ('delete_account', 'savings_api'),
      ('delete_account', 'savings_operator'),
      ('end_holding_readers', 'savings_api'),
      ('go_on_deleting', 'savings_api'),
      ('go_on_deleting', 'savings_operator'),
      ('restore_pools', 'savings_indexer'),
      ('restore_pools', 'savings_operator')
    ) AS f (name, role) JOIN pg_proc p ON p.proname = f.name AND p.pronamespace = 'public'::regnamespace
    WHERE f.role = ANY (roles)
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', given.function, given.role);
  END LOOP;
END $privileges$;
