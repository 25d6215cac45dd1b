-- The accounts of the service: an owner, who runs the migrations, and four that cannot change any definition. Roles are
-- of the whole server, so they are made once, by an account that may (CREATEROLE or a superuser):
--
--   psql "$ADMIN_URL" -v ON_ERROR_STOP=1 -f deploy/postgres/roles.sql
--   psql "$ADMIN_URL" -c "ALTER ROLE savings_api PASSWORD '…'"     # and so on; or `\password savings_api`
--   psql "$ADMIN_URL" -c 'CREATE DATABASE savings OWNER savings'   # or ALTER DATABASE … OWNER TO savings
--   DATABASE_URL=postgres://savings:…@…/savings node dist/src/migrate.js
--
-- What each may do is in migrations/privileges.sql, which the migrations apply. Where the roles come after the tables:
-- `node dist/src/migrate.js roles`. Running this file again changes nothing.

DO $$
DECLARE
  role name;
BEGIN
  FOREACH role IN ARRAY ARRAY['savings', 'savings_api', 'savings_indexer', 'savings_operator', 'savings_read_only'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', role);
    END IF;
  END LOOP;
END $$;

-- A rewind or replay takes over from an indexer, and ends its connection if it hangs.
GRANT savings_indexer TO savings_operator;

-- What the runbooks look for: who holds a lock, and since when; and to end it.
DO $$
BEGIN
  GRANT pg_read_all_stats, pg_signal_backend TO savings_operator;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE WARNING 'savings_operator does not see statements of others: a superuser may GRANT pg_read_all_stats, pg_signal_backend';
END $$;

-- People and reports: few connections, and the owner ends sessions that block others (end_holding_readers). The time
-- limits end forgotten sessions; a session may change them. Values that an administrator has set stay.
GRANT savings_read_only TO savings;
DO $$
BEGIN
  IF (SELECT rolconnlimit = -1 FROM pg_roles WHERE rolname = 'savings_read_only') THEN
    ALTER ROLE savings_read_only CONNECTION LIMIT 10;
  END IF;
  IF (SELECT rolconfig IS NULL FROM pg_roles WHERE rolname = 'savings_read_only') THEN
    ALTER ROLE savings_read_only SET idle_in_transaction_session_timeout = '1min';
    ALTER ROLE savings_read_only SET statement_timeout = '5min';
  END IF;
END $$;
