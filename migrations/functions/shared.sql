-- What several triggers share. Functions of triggers that write run with the rights of their owner (SECURITY DEFINER), so a
-- role may have the right to add a payment without the right to write a total or an event. Their search_path is fixed, or
-- a caller's table could take the place of ours, and nobody may put them on another table (migrations/privileges.sql).

-- ISO 8601 in UTC with milliseconds, the format of Date.toISOString.
CREATE OR REPLACE FUNCTION iso(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- The indexer's transactions are long, so it has its own rows in account_days (0) and in pool_totals (shard 0).
CREATE OR REPLACE FUNCTION writer() RETURNS smallint LANGUAGE sql STABLE AS $$
  SELECT (CASE current_setting('application_name') WHEN 'indexer' THEN 0 ELSE 1 END)::smallint
$$;

-- A backend writes to one shard only, in one transaction at a time, so backends rarely share a shard.
CREATE OR REPLACE FUNCTION pool_totals_shard() RETURNS smallint LANGUAGE sql STABLE AS $$
  SELECT (CASE current_setting('application_name') WHEN 'indexer' THEN 0
    ELSE 1 + pg_backend_pid() % 31 END)::smallint
$$;

-- The next last_update: the time of the change, but always later than the previous value.
CREATE OR REPLACE FUNCTION changed_at(last_update timestamptz) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT greatest(date_trunc('milliseconds', clock_timestamp()), last_update + interval '1 millisecond')
$$;

-- Whether create_pools is writing, which keeps the totals itself. Statements of a client that sets this do not run within a
-- trigger. PostgreSQL parses the condition of a trigger again for every statement, but does not inline this language.
CREATE OR REPLACE FUNCTION creating() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN pg_trigger_depth() > 0 AND current_setting('savings.creating', true) = 'on';
END $$;

-- So many memberships of an address are looked up one by one. Those that begin together do not see each other, so there
-- may be some more.
CREATE OR REPLACE FUNCTION few_memberships() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 32';

-- Repairs of derived data set savings.repair to the id of their transaction: a setting that is left on a connection means
-- nothing in the next one. Anyone may set it, so it counts only for a role that may truncate the table: its owner and
-- operators. With one role for everything that includes the service, which has no statement that sets it.
CREATE OR REPLACE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_LEVEL = 'STATEMENT' AND current_setting('savings.repair', true) = pg_current_xact_id_if_assigned()::text THEN
    IF has_table_privilege(TG_RELID, 'TRUNCATE') THEN RETURN NULL; END IF;
    RAISE EXCEPTION 'only the owner of % and operators may repair it', TG_TABLE_NAME
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RAISE EXCEPTION '% of % refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;

CREATE OR REPLACE FUNCTION pool_stand_in(contract text, name text) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT substr(encode(sha256(convert_to(contract || ' ' || name, 'UTF8')), 'hex'), 1, 32)::uuid
$$;
COMMENT ON FUNCTION pool_stand_in IS
  'The id that events have whose contract names the pool, while no pool has the name';
