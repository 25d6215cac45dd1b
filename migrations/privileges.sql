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
-- UPDATE (created_at), (begun_at) or (cancelled_at) is the right to lock a row: triggers refuse to change that column.
--
-- What is listed below is restricted. Any other table or view, such as a module's own, is for the API to read and write,
-- for operators to read, and closed to all others; what its migration grants beside that stays.

DO $privileges$
DECLARE
  given record;
  statement text;
  listed oid[] := '{}';
  roles CONSTANT name[] := ARRAY(SELECT rolname FROM pg_roles
    WHERE rolname IN ('savings_api', 'savings_indexer', 'savings_operator', 'savings_read_only') ORDER BY rolname);
  rows CONSTANT text := 'SELECT, INSERT, UPDATE, DELETE';
BEGIN
  -- What runs as its owner is for our triggers, and for the roles that are named below.
  FOR statement IN
    SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', oid::regprocedure) FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND (prosecdef OR proname = 'after_restore')
      AND proowner = current_user::regrole
  LOOP
    EXECUTE statement;
  END LOOP;
  IF roles = '{}' THEN RETURN; END IF;

  -- With either a caller could make a function or a trigger of his own.
  REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());

  -- Operators have all rights to the rows of all.
  FOR given IN
    SELECT to_regclass('public.' || name) AS relation, r.role, r.privileges
    FROM (VALUES
      -- names, api, indexer, read_only
      ('users', 'SELECT, INSERT, UPDATE', 'SELECT', 'SELECT'),
      ('nonces idempotency_keys event_tickets webhooks', rows, '', ''),
      ('session_endings webhook_events webhook_crowds webhook_deliveries', rows, '', 'SELECT'),
      ('pools', 'SELECT, UPDATE (auto_compound, last_update)', 'SELECT, UPDATE (created_at)', 'SELECT'),
      ('pool_members', 'SELECT, DELETE', 'SELECT', 'SELECT'),
      ('new_pools', 'SELECT, INSERT', '', ''),
      ('cancelled_pools', 'SELECT, UPDATE (cancelled_at), DELETE', 'SELECT', 'SELECT'),
      ('transactions', 'SELECT, UPDATE (created_at)', rows, 'SELECT'),
      ('yield_accruals chain_cursor chain_contracts chain_contracts_apart chain_facts chain_tokens', 'SELECT', rows, 'SELECT'),
      ('chain_proofs chain_blocks chain_events pool_names receipt_waits set_aside_counts', 'SELECT', rows, 'SELECT'),
      ('share_holdings share_totals share_prices positions pool_weights accrual_rates', 'SELECT', rows, 'SELECT'),
      ('position_journal lottery_draws lottery_tickets', 'SELECT', rows, 'SELECT'),
      ('circles circle_members circle_rounds', 'SELECT', rows, 'SELECT'),
      ('account_days owner_totals pool_totals member_streams member_counts', 'SELECT', 'SELECT', 'SELECT'),
      ('lottery_totals migrations required_migrations', 'SELECT', 'SELECT', 'SELECT'),
      ('submissions outbox_consumers outbox_set_aside', rows, rows, 'SELECT'),
      -- Triggers add events; a consumer takes them, and removes old ones.
      ('outbox', 'SELECT, DELETE', 'SELECT', 'SELECT'),
      ('outbox_staged', '', '', ''),
      ('outbox_removed', 'SELECT, UPDATE', 'SELECT', 'SELECT'),
      ('verify_walks', 'SELECT', 'SELECT, INSERT, UPDATE', 'SELECT'),
      ('account_deletions', 'SELECT', '', ''),
      ('operator_records', 'SELECT, UPDATE (begun_at), DELETE', '', 'SELECT')
    ) AS t (names, api, indexer, read_only) CROSS JOIN string_to_table(names, ' ') AS name CROSS JOIN LATERAL (VALUES
      ('savings_api', t.api),
      ('savings_indexer', t.indexer),
      ('savings_read_only', t.read_only),
      ('savings_operator', CASE WHEN name ~ 'migrations$' THEN 'SELECT' ELSE rows || ', TRUNCATE' END)
    ) AS r (role, privileges)
    WHERE r.role = ANY (roles) AND to_regclass('public.' || name) IS NOT NULL
  LOOP
    listed := listed || given.relation::oid;
    BEGIN
      EXECUTE format('REVOKE ALL ON %s FROM %I', given.relation, given.role);
      IF given.privileges <> '' THEN
        EXECUTE format('GRANT %s ON %s TO %I', given.privileges, given.relation, given.role);
      END IF;
    EXCEPTION WHEN undefined_column THEN
      NULL; -- A later migration adds it. Until then the rights stay as they are.
    END;
  END LOOP;

  FOR statement IN
    SELECT format('GRANT USAGE ON SCHEMA public TO %I', role) FROM unnest(roles) AS role
    UNION ALL SELECT format('GRANT TEMPORARY ON DATABASE %I TO %I', current_database(), role)
    FROM unnest(roles) AS role WHERE role IN ('savings_indexer', 'savings_operator')

    -- Otherwise every role that can connect could hold the locks of others. Only a superuser can revoke this from PUBLIC.
    UNION ALL SELECT format('REVOKE EXECUTE ON FUNCTION %1$s FROM PUBLIC; GRANT EXECUTE ON FUNCTION %1$s TO %2$I',
      p.oid::regprocedure, r.rolname)
    FROM pg_proc p CROSS JOIN pg_roles r
    WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname ~ '^pg_(try_)?advisory_'
      AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
      AND (r.rolname = ANY (roles) AND r.rolname <> 'savings_read_only'
        OR r.oid IN (SELECT relowner FROM pg_class WHERE relnamespace = 'public'::regnamespace))

    UNION ALL SELECT format('GRANT EXECUTE ON FUNCTION %s TO %I', p.oid::regprocedure, role)
    FROM (VALUES
      ('{cancel_pool, delete_account, go_on_deleting}'::name[], '{savings_api, savings_operator}'::name[]),
      ('{restore_pools}', '{savings_indexer, savings_operator}'), ('{end_holding_readers}', '{savings_api}')
    ) AS f (names, callers) JOIN pg_proc p ON p.proname = ANY (f.names) AND p.pronamespace = 'public'::regnamespace
    CROSS JOIN unnest(callers) AS role WHERE role = ANY (roles)

    -- Partitions of what is listed are reached through their table alone. A view could change what its owner may.
    UNION ALL SELECT format('GRANT %s ON %s %s TO %I', r.privileges,
      CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass, r.role)
    FROM pg_class c CROSS JOIN LATERAL (VALUES
      ('savings_api', CASE WHEN c.relkind = 'S' THEN 'USAGE, SELECT' WHEN c.relkind IN ('v', 'm') THEN 'SELECT'
        ELSE rows END),
      ('savings_operator', 'SELECT')
    ) AS r (role, privileges)
    WHERE r.role = ANY (roles) AND c.relnamespace = 'public'::regnamespace AND pg_has_role(c.relowner, 'USAGE')
      AND c.relkind IN ('r', 'p', 'f', 'v', 'm', 'S')
      AND NOT c.oid = ANY (listed) AND NOT coalesce(pg_partition_root(c.oid)::oid = ANY (listed), false)
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND (d.deptype = 'e'
        OR d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (listed) AND d.deptype IN ('a', 'i')))
  LOOP
    EXECUTE statement;
  END LOOP;
END $privileges$;
