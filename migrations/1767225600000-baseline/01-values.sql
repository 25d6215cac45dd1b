-- What the tables are made of: kinds of values with their checks, and functions that stand in checks and defaults.
-- Amounts are numeric(78,0), which holds every uint256. Sums are plain numeric, since a sum may exceed that. The lists
-- of kinds here are those of src/values/types.ts; test/schema.e2e-spec.ts holds them together.

-- The same as '^0x[0-9a-f]{40}$', whose counted repetition takes eight times as long, at every row of the ledger.
CREATE FUNCTION is_address(a text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT octet_length(a) = 42 AND (a COLLATE "C") ~ '^0x[0-9a-f]*$'
$$;

-- Domains, because PostgreSQL parses the checks of a table again for every statement that writes to it, and those of
-- a domain once for each connection. As checks of the tables they took a fifth of the time of POST /pools.
CREATE DOMAIN address AS text COLLATE "C" CHECK (is_address(VALUE));
CREATE DOMAIN amount AS numeric(78,0) CHECK (VALUE >= 0);
CREATE DOMAIN sum_from_zero AS numeric CHECK (VALUE >= 0);
CREATE DOMAIN pool_type AS text COLLATE "C" CHECK (VALUE IN ('individual', 'cooperative', 'lottery', 'rotating'));
CREATE DOMAIN pool_role AS text COLLATE "C" CHECK (VALUE IN ('OWNER', 'MEMBER'));
CREATE DOMAIN transaction_type AS text COLLATE "C" CHECK (VALUE IN ('DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'));
CREATE DOMAIN transaction_status AS text COLLATE "C" CHECK (VALUE IN ('PENDING', 'CONFIRMED', 'EXPIRED'));

-- The transaction id that events have for a transaction of this server. after_restore() replaces it by one that adds
-- a constant.
CREATE FUNCTION outbox_xid(xid8) RETURNS xid8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1';

-- UUIDv7: rows that are made together stand together in the index.
CREATE FUNCTION sorted_uuid() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING
    substring(int8send((extract(epoch FROM statement_timestamp()) * 1000)::bigint) FROM 3)
    FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;
