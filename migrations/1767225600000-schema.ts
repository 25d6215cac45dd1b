import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Users, pools, transactions, lottery, and the totals kept beside them.
 *
 * Amounts are numeric(78,0), which holds every uint256; sums are plain numeric, since a sum may exceed it.
 * `transactions` and `yield_accruals` are the ledger. Everything derived from it (a pool's balance, counts
 * and yield, what an address may read, daily and global totals) is kept by statement-level triggers, so no
 * writer can change the one without the other.
 */
export class Schema1767225600000 implements MigrationInterface {
  name = 'Schema1767225600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      -- As '^0x[0-9a-f]{40}$' says, which takes more than twice as long.
      CREATE FUNCTION is_address(a text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT octet_length(a) = 42 AND starts_with(a, '0x') AND btrim(substr(a, 3), '0123456789abcdef') = ''
      $$;

      CREATE TABLE users (
        id uuid NOT NULL,
        address text COLLATE "C" NOT NULL,
        created_at timestamptz(3) NOT NULL,
        CONSTRAINT users_pkey PRIMARY KEY (id),
        CONSTRAINT users_address_key UNIQUE (address),
        CONSTRAINT users_address_check CHECK (is_address(address))
      );

      CREATE TABLE nonces (
        nonce text COLLATE "C" NOT NULL,
        address text COLLATE "C",
        expires_at timestamptz(3) NOT NULL,
        CONSTRAINT nonces_pkey PRIMARY KEY (nonce)
      );
      CREATE INDEX nonces_expires_at_idx ON nonces (expires_at);

      CREATE TABLE pools (
        id uuid NOT NULL,
        type text COLLATE "C" NOT NULL,
        owner_id uuid NOT NULL,
        contract_address text COLLATE "C" NOT NULL,
        balance numeric(78,0) NOT NULL DEFAULT 0,
        total_yield numeric NOT NULL DEFAULT 0,
        claimed_yield numeric NOT NULL DEFAULT 0,
        apr_bps integer NOT NULL DEFAULT 0,
        auto_compound boolean NOT NULL DEFAULT false,
        member_count smallint NOT NULL DEFAULT 0,
        deposit_count integer NOT NULL DEFAULT 0,
        withdrawal_count integer NOT NULL DEFAULT 0,
        claim_count integer NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL,
        last_update timestamptz(3) NOT NULL,
        last_claimed_at timestamptz(3),
        CONSTRAINT pools_pkey PRIMARY KEY (id),
        CONSTRAINT pools_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users (id),
        CONSTRAINT pools_type_check CHECK (type IN ('individual', 'cooperative', 'lottery', 'rotating')),
        CONSTRAINT pools_contract_address_check CHECK (is_address(contract_address)),
        CONSTRAINT pools_balance_check CHECK (balance >= 0),
        CONSTRAINT pools_total_yield_check CHECK (total_yield >= 0),
        CONSTRAINT pools_claimed_yield_check CHECK (claimed_yield >= 0)
      ) WITH (fillfactor = 85);
      CREATE INDEX pools_owner_id_idx ON pools (owner_id);

      CREATE TABLE pool_members (
        pool_id uuid NOT NULL,
        address text COLLATE "C" NOT NULL,
        role text COLLATE "C" NOT NULL,
        type text COLLATE "C" NOT NULL,
        CONSTRAINT pool_members_pkey PRIMARY KEY (pool_id, address),
        CONSTRAINT pool_members_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id) ON DELETE CASCADE,
        CONSTRAINT pool_members_role_check CHECK (role IN ('OWNER', 'MEMBER')),
        CONSTRAINT pool_members_address_check CHECK (is_address(address))
      );
      CREATE INDEX pool_members_address_idx ON pool_members (address, pool_id, type);

      CREATE TABLE transactions (
        id uuid NOT NULL,
        pool_id uuid NOT NULL,
        type text COLLATE "C" NOT NULL,
        status text COLLATE "C" NOT NULL,
        account text COLLATE "C" NOT NULL,
        amount numeric(78,0) NOT NULL,
        requested_amount numeric(78,0),
        tx_hash text COLLATE "C",
        block_number bigint,
        log_index integer,
        gas_used numeric(78,0),
        gas_price numeric(78,0),
        created_at timestamptz(3) NOT NULL,
        confirmed_at timestamptz(3),
        CONSTRAINT transactions_pkey PRIMARY KEY (id),
        CONSTRAINT transactions_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id),
        CONSTRAINT transactions_type_check CHECK (type IN ('DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM')),
        CONSTRAINT transactions_status_check CHECK (status IN ('PENDING', 'CONFIRMED', 'EXPIRED')),
        CONSTRAINT transactions_account_check CHECK (is_address(account)),
        CONSTRAINT transactions_amount_check CHECK (amount >= 0),
        CONSTRAINT transactions_confirmed_check CHECK (
          (status = 'CONFIRMED') = (tx_hash IS NOT NULL AND block_number IS NOT NULL AND log_index IS NOT NULL)
        )
      ) WITH (fillfactor = 90);
      CREATE INDEX transactions_pool_id_idx ON transactions (pool_id, type, id);
      CREATE INDEX transactions_tx_hash_idx ON transactions (tx_hash, log_index) WHERE tx_hash IS NOT NULL;
      CREATE INDEX transactions_pending_idx ON transactions (created_at) WHERE status = 'PENDING';

      CREATE TABLE transaction_readers (
        address text COLLATE "C" NOT NULL,
        type text COLLATE "C" NOT NULL,
        transaction_id uuid NOT NULL,
        CONSTRAINT transaction_readers_pkey PRIMARY KEY (address, type, transaction_id)
      );
      COMMENT ON TABLE transaction_readers IS 'Derived: each transaction once for the owner and every member of its pool';

      CREATE TABLE account_days (
        address text COLLATE "C" NOT NULL,
        day date NOT NULL,
        deposited numeric NOT NULL DEFAULT 0,
        claimed numeric NOT NULL DEFAULT 0,
        readable_deposits integer NOT NULL DEFAULT 0,
        readable_withdrawals integer NOT NULL DEFAULT 0,
        readable_claims integer NOT NULL DEFAULT 0,
        CONSTRAINT account_days_pkey PRIMARY KEY (address, day)
      ) WITH (fillfactor = 70);
      COMMENT ON TABLE account_days IS 'Derived: per UTC day what an address deposited and claimed, and how many transactions it may read';

      CREATE TABLE yield_accruals (
        block_number bigint NOT NULL,
        log_index integer NOT NULL,
        pool_id uuid NOT NULL,
        amount numeric(78,0) NOT NULL,
        apr_bps integer NOT NULL,
        accrued_at timestamptz(3) NOT NULL,
        CONSTRAINT yield_accruals_pkey PRIMARY KEY (pool_id, block_number, log_index),
        CONSTRAINT yield_accruals_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id),
        CONSTRAINT yield_accruals_amount_check CHECK (amount >= 0)
      );

      CREATE TABLE pool_totals (
        shard smallint NOT NULL,
        type text COLLATE "C" NOT NULL,
        pools bigint NOT NULL DEFAULT 0,
        deposited numeric NOT NULL DEFAULT 0,
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

      CREATE TABLE lottery_draws (
        draw_id bigint NOT NULL,
        status text COLLATE "C" NOT NULL,
        ticket_price numeric(78,0) NOT NULL,
        prize_pool numeric NOT NULL,
        participants integer NOT NULL,
        total_tickets numeric NOT NULL,
        draw_time timestamptz(3) NOT NULL,
        winner text COLLATE "C",
        winner_tickets numeric,
        prize numeric(78,0),
        drawn_at timestamptz(3),
        CONSTRAINT lottery_draws_pkey PRIMARY KEY (draw_id),
        CONSTRAINT lottery_draws_status_check CHECK (status IN ('ACTIVE', 'DRAWING', 'COMPLETED', 'CANCELLED')),
        CONSTRAINT lottery_draws_completed_check CHECK (
          (status = 'COMPLETED') = (winner IS NOT NULL AND prize IS NOT NULL AND drawn_at IS NOT NULL)
        )
      );
      CREATE INDEX lottery_draws_open_idx ON lottery_draws (draw_id) WHERE status IN ('ACTIVE', 'DRAWING');
      CREATE INDEX lottery_draws_completed_idx ON lottery_draws (drawn_at, draw_id) WHERE status = 'COMPLETED';
    `);
    await queryRunner.query(FUNCTIONS);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE lottery_draws, idempotency_keys, pool_totals, yield_accruals, account_days,
        transaction_readers, transactions, pool_members, pools, nonces, users;
      DROP FUNCTION transactions_inserted, transactions_updated, transactions_deleted,
        yield_accruals_inserted, yield_accruals_deleted, pools_inserted, pools_deleted,
        add_to_totals, pool_totals_shard, iso, is_address;
      DROP TYPE transaction_delta;
    `);
  }
}

const FUNCTIONS = `
  -- ISO 8601 in UTC with milliseconds, as Date.toISOString writes it.
  CREATE FUNCTION iso(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  $$;

  CREATE TYPE transaction_delta AS (
    pool_id uuid, account text, type text, created_at timestamptz, at timestamptz, amount numeric, count integer
  );

  -- A backend writes to one shard only and has one transaction at a time, so shards are rarely shared. Shard 0
  -- is the indexer's: its transactions are long, and a short one never waits for it.
  CREATE FUNCTION pool_totals_shard() RETURNS smallint LANGUAGE sql STABLE AS $$
    SELECT (CASE current_setting('application_name') WHEN 'indexer' THEN 0
      ELSE 1 + pg_backend_pid() % 31 END)::smallint
  $$;

  -- The one place where a change of the ledger reaches what is derived from it. Rows are locked in key order.
  CREATE FUNCTION add_to_totals(deltas transaction_delta[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    -- The newest claim that is left is looked up below: under the lock, so that what others did to it is seen.
    IF EXISTS (SELECT FROM unnest(deltas) d WHERE d.count < 0 AND d.type = 'YIELD_CLAIM') THEN
      PERFORM FROM pools WHERE id IN (SELECT pool_id FROM unnest(deltas)) ORDER BY id FOR NO KEY UPDATE;
    END IF;
    WITH changed AS (
      SELECT d.pool_id,
        coalesce(sum(d.amount) FILTER (WHERE d.type = 'DEPOSIT'), 0) AS deposited,
        coalesce(sum(d.amount) FILTER (WHERE d.type = 'WITHDRAWAL'), 0) AS withdrawn,
        coalesce(sum(d.amount) FILTER (WHERE d.type = 'YIELD_CLAIM'), 0) AS claimed,
        coalesce(sum(d.count) FILTER (WHERE d.type = 'DEPOSIT'), 0) AS deposits,
        coalesce(sum(d.count) FILTER (WHERE d.type = 'WITHDRAWAL'), 0) AS withdrawals,
        coalesce(sum(d.count) FILTER (WHERE d.type = 'YIELD_CLAIM'), 0) AS claims,
        max(d.created_at) FILTER (WHERE d.type = 'YIELD_CLAIM') AS claimed_at,
        max(d.at) AS at
      FROM unnest(deltas) d GROUP BY d.pool_id
    ), updated AS (
      UPDATE pools p SET
        balance = p.balance + c.deposited - c.withdrawn,
        claimed_yield = p.claimed_yield + c.claimed,
        deposit_count = p.deposit_count + c.deposits,
        withdrawal_count = p.withdrawal_count + c.withdrawals,
        claim_count = p.claim_count + c.claims,
        last_claimed_at = CASE
          WHEN c.claims > 0 THEN greatest(p.last_claimed_at, c.claimed_at)
          WHEN c.claims < 0 THEN (SELECT max(x.created_at) FROM transactions x WHERE x.pool_id = p.id AND x.type = 'YIELD_CLAIM')
          ELSE p.last_claimed_at END,
        last_update = greatest(p.last_update, c.at)
      FROM changed c WHERE p.id = c.pool_id
      RETURNING p.type, c.deposited
    )
    UPDATE pool_totals t SET deposited = t.deposited + u.deposited
    FROM (SELECT type, sum(deposited) AS deposited FROM updated GROUP BY type) u
    WHERE t.shard = pool_totals_shard() AND t.type = u.type AND u.deposited <> 0;

    INSERT INTO account_days AS a
      (address, day, deposited, claimed, readable_deposits, readable_withdrawals, readable_claims)
    SELECT address, day, sum(deposited), sum(claimed), sum(deposits), sum(withdrawals), sum(claims)
    FROM (
      SELECT d.account AS address, (d.created_at AT TIME ZONE 'UTC')::date AS day,
        CASE d.type WHEN 'DEPOSIT' THEN d.amount ELSE 0 END AS deposited,
        CASE d.type WHEN 'YIELD_CLAIM' THEN d.amount ELSE 0 END AS claimed,
        0 AS deposits, 0 AS withdrawals, 0 AS claims
      FROM unnest(deltas) d WHERE d.amount <> 0 AND d.type <> 'WITHDRAWAL'
      UNION ALL
      SELECT m.address, (d.created_at AT TIME ZONE 'UTC')::date, 0, 0,
        CASE d.type WHEN 'DEPOSIT' THEN d.count ELSE 0 END,
        CASE d.type WHEN 'WITHDRAWAL' THEN d.count ELSE 0 END,
        CASE d.type WHEN 'YIELD_CLAIM' THEN d.count ELSE 0 END
      FROM unnest(deltas) d JOIN pool_members m ON m.pool_id = d.pool_id WHERE d.count <> 0
    ) changes
    GROUP BY address, day ORDER BY address, day
    ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
      deposited = a.deposited + excluded.deposited,
      claimed = a.claimed + excluded.claimed,
      readable_deposits = a.readable_deposits + excluded.readable_deposits,
      readable_withdrawals = a.readable_withdrawals + excluded.readable_withdrawals,
      readable_claims = a.readable_claims + excluded.readable_claims;
  END $$;

  CREATE FUNCTION transactions_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM add_to_totals(
      array_agg((pool_id, account, type, created_at, coalesce(confirmed_at, created_at),
        CASE status WHEN 'EXPIRED' THEN 0 ELSE amount END, 1)::transaction_delta))
    FROM added HAVING count(*) > 0;
    INSERT INTO transaction_readers (address, type, transaction_id)
      SELECT m.address, a.type, a.id FROM added a JOIN pool_members m ON m.pool_id = a.pool_id;
    RETURN NULL;
  END $$;

  CREATE FUNCTION transactions_updated() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM add_to_totals(
      array_agg((n.pool_id, n.account, n.type, n.created_at, coalesce(n.confirmed_at, n.created_at),
        CASE n.status WHEN 'EXPIRED' THEN 0 ELSE n.amount END - CASE o.status WHEN 'EXPIRED' THEN 0 ELSE o.amount END,
        0)::transaction_delta))
    FROM added n JOIN removed o USING (id)
    WHERE n.amount <> o.amount OR n.status <> o.status
    HAVING count(*) > 0;
    RETURN NULL;
  END $$;

  CREATE FUNCTION transactions_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM add_to_totals(
      array_agg((pool_id, account, type, created_at, created_at,
        CASE status WHEN 'EXPIRED' THEN 0 ELSE -amount END, -1)::transaction_delta))
    FROM removed HAVING count(*) > 0;
    DELETE FROM transaction_readers r USING removed o, pool_members m
      WHERE m.pool_id = o.pool_id AND r.address = m.address AND r.type = o.type AND r.transaction_id = o.id;
    RETURN NULL;
  END $$;

  -- The one statement that creates pools for the API carries the totals along itself, and says so.
  CREATE TRIGGER transactions_inserted AFTER INSERT ON transactions
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT
    WHEN (current_setting('savings.inline', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION transactions_inserted();
  CREATE TRIGGER transactions_updated AFTER UPDATE ON transactions
    REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION transactions_updated();
  CREATE TRIGGER transactions_deleted AFTER DELETE ON transactions
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION transactions_deleted();

  CREATE FUNCTION pools_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE pool_totals t SET pools = t.pools + a.pools
    FROM (SELECT type, count(*) AS pools FROM added GROUP BY type) a
    WHERE t.shard = pool_totals_shard() AND t.type = a.type;
    RETURN NULL;
  END $$;

  CREATE FUNCTION pools_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE pool_totals t SET pools = t.pools - r.pools
    FROM (SELECT type, count(*) AS pools FROM removed GROUP BY type) r
    WHERE t.shard = pool_totals_shard() AND t.type = r.type;
    RETURN NULL;
  END $$;

  CREATE TRIGGER pools_inserted AFTER INSERT ON pools
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT
    WHEN (current_setting('savings.inline', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION pools_inserted();
  CREATE TRIGGER pools_deleted AFTER DELETE ON pools
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION pools_deleted();

  -- A pool's apr is that of its newest accrual that is left. The pools are locked by a statement of its own, so that
  -- the next one, whose snapshot is newer, sees every accrual of others who had the lock before.
  CREATE FUNCTION yield_accruals_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM FROM pools WHERE id IN (SELECT pool_id FROM added) ORDER BY id FOR NO KEY UPDATE;
    WITH changed AS (
      SELECT a.pool_id, sum(a.amount) AS amount, max(a.accrued_at) AS at,
        (SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = a.pool_id
         ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1) AS apr_bps
      FROM added a GROUP BY a.pool_id
    ), before AS (
      SELECT p.id, p.type, p.apr_bps FROM pools p JOIN changed c ON c.pool_id = p.id
    ), updated AS (
      UPDATE pools p SET total_yield = p.total_yield + c.amount, apr_bps = c.apr_bps,
        last_update = greatest(p.last_update, c.at)
      FROM changed c JOIN before b ON b.id = c.pool_id WHERE p.id = c.pool_id
      RETURNING p.type, c.amount, c.apr_bps - b.apr_bps AS apr_bps
    )
    UPDATE pool_totals t SET yield = t.yield + u.amount, apr_bps = t.apr_bps + u.apr_bps
    FROM (SELECT type, sum(amount) AS amount, sum(apr_bps) AS apr_bps FROM updated GROUP BY type) u
    WHERE t.shard = pool_totals_shard() AND t.type = u.type;
    RETURN NULL;
  END $$;

  CREATE FUNCTION yield_accruals_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM FROM pools WHERE id IN (SELECT pool_id FROM removed) ORDER BY id FOR NO KEY UPDATE;
    WITH changed AS (
      SELECT r.pool_id, sum(r.amount) AS amount,
        coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = r.pool_id
         ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0) AS apr_bps
      FROM removed r GROUP BY r.pool_id
    ), before AS (
      SELECT p.id, p.type, p.apr_bps FROM pools p JOIN changed c ON c.pool_id = p.id
    ), updated AS (
      UPDATE pools p SET total_yield = p.total_yield - c.amount, apr_bps = c.apr_bps
      FROM changed c JOIN before b ON b.id = c.pool_id WHERE p.id = c.pool_id
      RETURNING p.type, c.amount, c.apr_bps - b.apr_bps AS apr_bps
    )
    UPDATE pool_totals t SET yield = t.yield - u.amount, apr_bps = t.apr_bps + u.apr_bps
    FROM (SELECT type, sum(amount) AS amount, sum(apr_bps) AS apr_bps FROM updated GROUP BY type) u
    WHERE t.shard = pool_totals_shard() AND t.type = u.type;
    RETURN NULL;
  END $$;

  CREATE TRIGGER yield_accruals_inserted AFTER INSERT ON yield_accruals
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_inserted();
  CREATE TRIGGER yield_accruals_deleted AFTER DELETE ON yield_accruals
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_deleted();
`;
