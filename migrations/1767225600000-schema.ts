import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Users, pools, transactions, and the totals stored with them.
 *
 * Amounts are numeric(78,0), which holds every uint256. Sums are plain numeric, since a sum may exceed that.
 * `transactions` and `yield_accruals` are the ledger. The triggers of the next migration keep what is derived from it.
 */
export class Schema1767225600000 implements MigrationInterface {
  name = 'Schema1767225600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      -- ISO 8601 in UTC with milliseconds, the format of Date.toISOString.
      CREATE FUNCTION iso(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
        SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      $$;

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

      -- Migrations that a version has to know, to work on the schema: those that take away or change what the version
      -- before used. They add themselves; what only adds need not.
      CREATE TABLE required_migrations (
        name text COLLATE "C" NOT NULL,
        CONSTRAINT required_migrations_pkey PRIMARY KEY (name)
      );

      CREATE TABLE users (
        id uuid NOT NULL,
        address address NOT NULL,
        created_at timestamptz(3) NOT NULL,
        session_generation integer NOT NULL DEFAULT 0,
        CONSTRAINT users_pkey PRIMARY KEY (id),
        CONSTRAINT users_address_key UNIQUE (address)
      );

      CREATE TABLE nonces (
        nonce text COLLATE "C" NOT NULL,
        address text COLLATE "C",
        expires_at timestamptz(3) NOT NULL,
        CONSTRAINT nonces_pkey PRIMARY KEY (nonce)
      );
      CREATE INDEX nonces_expires_at_idx ON nonces (expires_at);

      -- The columns that a member's list reads come first, because the first columns of a row are found faster.
      CREATE TABLE pools (
        id uuid NOT NULL,
        deposit_count integer NOT NULL DEFAULT 0,
        withdrawal_count integer NOT NULL DEFAULT 0,
        claim_count integer NOT NULL DEFAULT 0,
        last_deposit_id uuid,
        last_withdrawal_id uuid,
        last_claim_id uuid,
        type pool_type NOT NULL,
        owner_id uuid NOT NULL,
        contract_address address NOT NULL,
        -- A sum of amounts; the chain's events may take it beyond the range of a single amount.
        balance sum_from_zero NOT NULL DEFAULT 0,
        pending_balance numeric NOT NULL DEFAULT 0,
        total_yield sum_from_zero NOT NULL DEFAULT 0,
        claimed_yield sum_from_zero NOT NULL DEFAULT 0,
        apr_bps bigint NOT NULL DEFAULT 0,
        auto_compound boolean NOT NULL DEFAULT false,
        member_count smallint NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL,
        last_update timestamptz(3) NOT NULL,
        last_claimed_at timestamptz(3),
        CONSTRAINT pools_pkey PRIMARY KEY (id),
        CONSTRAINT pools_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users (id)
      ) WITH (fillfactor = 85);
      CREATE INDEX pools_owner_id_idx ON pools (owner_id);

      CREATE TABLE pool_members (
        pool_id uuid NOT NULL,
        address address NOT NULL,
        role pool_role NOT NULL,
        type pool_type NOT NULL,
        indexed boolean NOT NULL,
        CONSTRAINT pool_members_pkey PRIMARY KEY (pool_id, address),
        CONSTRAINT pool_members_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id) ON DELETE CASCADE
      );
      CREATE INDEX pool_members_address_idx ON pool_members (address, pool_id);
      CREATE INDEX pool_members_owner_idx ON pool_members (address, type, pool_id) WHERE role = 'OWNER';
      CREATE INDEX pool_members_member_idx ON pool_members (indexed, address, type, pool_id) WHERE role = 'MEMBER';
      CREATE INDEX pool_members_indexed_idx ON pool_members (pool_id, address) WHERE indexed;
      COMMENT ON COLUMN pool_members.indexed IS 'Whether member_streams and member_counts have it: so have the memberships of an address beyond the first few';

      CREATE TABLE transactions (
        id uuid NOT NULL,
        pool_id uuid NOT NULL,
        owner_id uuid NOT NULL,
        by_owner boolean NOT NULL,
        type transaction_type NOT NULL,
        status transaction_status NOT NULL,
        account address NOT NULL,
        amount amount NOT NULL,
        requested_amount amount,
        tx_hash text COLLATE "C",
        block_number bigint,
        log_index integer,
        gas_used numeric(78,0),
        gas_price numeric(78,0),
        l1_fee numeric(78,0),
        created_at timestamptz(3) NOT NULL,
        confirmed_at timestamptz(3),
        CONSTRAINT transactions_pkey PRIMARY KEY (id),
        -- No foreign key: the triggers that keep the totals check that the pool exists.
        CONSTRAINT transactions_confirmed_check CHECK (
          (status = 'CONFIRMED') = (tx_hash IS NOT NULL AND block_number IS NOT NULL AND log_index IS NOT NULL)
        )
      ) WITH (fillfactor = 90);
      CREATE INDEX transactions_pool_id_idx ON transactions (pool_id, type, id);
      CREATE INDEX transactions_owner_id_idx ON transactions (owner_id, type, id);
      CREATE INDEX transactions_outside_idx ON transactions (account, type, id, pool_id) WHERE NOT by_owner;
      CREATE INDEX transactions_tx_hash_idx ON transactions (tx_hash, log_index) WHERE tx_hash IS NOT NULL;
      CREATE INDEX transactions_pending_idx ON transactions (created_at) WHERE status = 'PENDING';
      CREATE INDEX transactions_unconfirmed_idx ON transactions (pool_id) WHERE status IN ('PENDING', 'EXPIRED');
      CREATE INDEX transactions_unconfirmed_owner_idx ON transactions (owner_id, status, id)
        WHERE status IN ('PENDING', 'EXPIRED');
      CREATE INDEX transactions_unconfirmed_outside_idx ON transactions (account, status, id)
        WHERE status IN ('PENDING', 'EXPIRED') AND NOT by_owner;
      CREATE INDEX transactions_gas_idx ON transactions (block_number)
        WHERE status = 'CONFIRMED' AND gas_used IS NULL;
      COMMENT ON COLUMN transactions.owner_id IS 'Of the pool, here too so that one index serves an owner''s list';
      COMMENT ON COLUMN transactions.by_owner IS 'Whether the account is the owner''s';

      CREATE TABLE account_days (
        address text COLLATE "C" NOT NULL,
        day date NOT NULL,
        writer smallint NOT NULL,
        deposited numeric NOT NULL DEFAULT 0,
        pending numeric NOT NULL DEFAULT 0,
        claimed numeric NOT NULL DEFAULT 0,
        deposits integer NOT NULL DEFAULT 0,
        withdrawals integer NOT NULL DEFAULT 0,
        claims integer NOT NULL DEFAULT 0,
        CONSTRAINT account_days_pkey PRIMARY KEY (address, day, writer)
      ) WITH (fillfactor = 70);
      COMMENT ON TABLE account_days IS 'Derived: per UTC day what an address deposited and claimed, and how many transactions it may list as owner or as an outsider who paid; a row each for the indexer (0) and all others (1), so that they never wait for each other';

      CREATE TABLE member_streams (
        pool_id uuid NOT NULL,
        address text COLLATE "C" NOT NULL,
        type text COLLATE "C" NOT NULL,
        status text COLLATE "C" NOT NULL,
        first_id uuid NOT NULL,
        last_id uuid NOT NULL,
        CONSTRAINT member_streams_pkey PRIMARY KEY (pool_id, address, type, status)
      );
      CREATE INDEX member_streams_last_idx ON member_streams (address, type, status, last_id, first_id, pool_id);
      COMMENT ON TABLE member_streams IS 'Derived: the first and the newest transaction of each type and status in the pool of an indexed membership';

      CREATE TABLE member_counts (
        address text COLLATE "C" NOT NULL,
        type text COLLATE "C" NOT NULL,
        writer smallint NOT NULL,
        count bigint NOT NULL DEFAULT 0,
        CONSTRAINT member_counts_pkey PRIMARY KEY (address, type, writer)
      ) WITH (fillfactor = 70);
      COMMENT ON TABLE member_counts IS 'Derived: of the indexed memberships of an address, how many pools there are of each type, and how many transactions of each type in these; a row each for the indexer (0) and all others (1)';

      CREATE TABLE owner_totals (
        owner_id uuid NOT NULL,
        type text COLLATE "C" NOT NULL,
        writer smallint NOT NULL,
        pools integer NOT NULL DEFAULT 0,
        active integer NOT NULL DEFAULT 0,
        yield numeric NOT NULL DEFAULT 0,
        apr_bps bigint NOT NULL DEFAULT 0,
        CONSTRAINT owner_totals_pkey PRIMARY KEY (owner_id, type, writer)
      ) WITH (fillfactor = 70);
      COMMENT ON TABLE owner_totals IS 'Derived: per owner and type how many pools he has, how many of them have a balance, and sums of their yield and rate; a row each for the indexer (0) and all others (1), so that they never wait for each other';

      CREATE TABLE yield_accruals (
        block_number bigint NOT NULL,
        log_index integer NOT NULL,
        pool_id uuid NOT NULL,
        amount amount NOT NULL,
        apr_bps bigint NOT NULL,
        accrued_at timestamptz(3) NOT NULL,
        CONSTRAINT yield_accruals_pkey PRIMARY KEY (pool_id, block_number, log_index),
        CONSTRAINT yield_accruals_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id)
      );

      CREATE TABLE pool_totals (
        shard smallint NOT NULL,
        type text COLLATE "C" NOT NULL,
        pools bigint NOT NULL DEFAULT 0,
        deposited numeric NOT NULL DEFAULT 0,
        pending numeric NOT NULL DEFAULT 0,
        yield numeric NOT NULL DEFAULT 0,
        apr_bps bigint NOT NULL DEFAULT 0,
        CONSTRAINT pool_totals_pkey PRIMARY KEY (shard, type)
      ) WITH (fillfactor = 10);
      COMMENT ON TABLE pool_totals IS 'Derived: global totals, split over shards so that writers do not queue behind one row; a total is the sum of its shards';
      INSERT INTO pool_totals (shard, type)
        SELECT shard, type FROM generate_series(0, 31) shard,
          unnest(ARRAY['individual', 'cooperative', 'lottery', 'rotating']) type;

      CREATE TABLE idempotency_keys (
        user_id uuid NOT NULL,
        key text COLLATE "C" NOT NULL,
        request_hash text COLLATE "C" NOT NULL,
        response text NOT NULL,
        created_at timestamptz(3) NOT NULL,
        CONSTRAINT idempotency_keys_pkey PRIMARY KEY (user_id, key)
      );
      CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE required_migrations, idempotency_keys, pool_totals, yield_accruals, member_counts, member_streams, owner_totals, account_days,
        transactions, pool_members, pools, nonces, users;
      DROP DOMAIN address, amount, sum_from_zero, pool_type, pool_role, transaction_type, transaction_status;
      DROP FUNCTION iso, is_address;
    `);
  }
}
