import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Deposits that are not paid yet: the hashes that their payers told, and pools that were cancelled before anything was
 * paid into them.
 *
 * Neither says what the chain says. A payment confirms its deposit whatever hash was told, and a payment into a
 * cancelled pool brings the pool back.
 */
export class Unpaid1767550000000 implements MigrationInterface {
  name = 'Unpaid1767550000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const text of [TABLES, SUBMISSIONS, CANCELLING]) await queryRunner.query(text);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM outbox WHERE items::text ~ '"topic" ?: ?"(deposit\\.submitted|pool\\.cancelled)"';
      DROP FUNCTION restore_pools, cancel_pool;
      DROP FUNCTION submissions_follow, submissions_end, publish_told, publish_told_again, publish_taken_back CASCADE;
      DROP TABLE cancelled_pools, submissions;
    `);
  }
}

const TABLES = `
  CREATE TABLE submissions (
    transaction_id uuid NOT NULL,
    account address NOT NULL,
    hash text COLLATE "C" NOT NULL,
    at timestamptz(3) NOT NULL,
    check_at timestamptz(3) NOT NULL,
    checks smallint NOT NULL DEFAULT 0,
    known boolean NOT NULL DEFAULT false,
    sender text COLLATE "C",
    nonce bigint,
    CONSTRAINT submissions_pkey PRIMARY KEY (transaction_id)
  ) WITH (fillfactor = 70);
  CREATE INDEX submissions_account_idx ON submissions (account, check_at);
  COMMENT ON TABLE submissions IS 'Of deposits that are not on the chain yet: the hash of the payment, as the payer told it, or as a reorganisation took it back';
  COMMENT ON COLUMN submissions.checks IS 'How often in a row the indexer has found the same: that the chain''s nodes know the hash, or that they do not';

  CREATE TABLE cancelled_pools (
    id uuid NOT NULL,
    type pool_type NOT NULL,
    owner_id uuid NOT NULL,
    account address NOT NULL,
    contract_address address NOT NULL,
    auto_compound boolean NOT NULL,
    members text[] COLLATE "C" NOT NULL,
    deposit_id uuid,
    amount amount,
    created_at timestamptz(3) NOT NULL,
    cancelled_at timestamptz(3) NOT NULL,
    CONSTRAINT cancelled_pools_pkey PRIMARY KEY (id),
    CONSTRAINT cancelled_pools_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users (id)
  );
  CREATE INDEX cancelled_pools_owner_id_idx ON cancelled_pools (owner_id);
  COMMENT ON TABLE cancelled_pools IS 'What it takes to bring a pool back when a payment into it arrives after all, and who may read its events';
`;

/**
 * Stages the rows of a SELECT as events, a thousand a row. They have no place on the chain, and come behind what the
 * transaction takes back of their deposits.
 */
const publish = (events: string): string => `
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT 0, array_agg(NULL::bigint), array_agg(NULL::bigint), array_agg(to_json(event))
  FROM (SELECT row_number() OVER () - 1 AS n, event FROM (${events}) event) numbered
  GROUP BY n / 1000;`;

const submitted = (hash: string, from: string): string => `
  SELECT 'deposit.submitted' AS topic, iso(clock_timestamp()) AS "occurredAt", t.pool_id AS "poolId",
    t.id AS "transactionId", t.account, t.amount::text AS amount, ${hash} AS "txHash"
  FROM ${from} t.status = 'PENDING' ORDER BY t.id`;

const publishes = (name: string, event: string, tables: string, events: string): string => `
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ${publish(events)}
    RETURN NULL;
  END $$;
  CREATE TRIGGER ${name} AFTER ${event} ON submissions REFERENCING ${tables}
    FOR EACH STATEMENT EXECUTE FUNCTION ${name}();
`;

const SUBMISSIONS = `
  ${publishes(
    'publish_told',
    'INSERT',
    'NEW TABLE AS added',
    submitted('s.hash', 'added s JOIN transactions t ON t.id = s.transaction_id WHERE'),
  )}
  ${publishes(
    'publish_told_again',
    'UPDATE',
    'NEW TABLE AS added OLD TABLE AS removed',
    submitted(
      's.hash',
      `added s JOIN removed o USING (transaction_id) JOIN transactions t ON t.id = s.transaction_id
       WHERE s.hash <> o.hash AND`,
    ),
  )}
  -- Of a deposit that was confirmed it is no news.
  ${publishes(
    'publish_taken_back',
    'DELETE',
    'OLD TABLE AS removed',
    submitted('NULL::text', 'removed s JOIN transactions t ON t.id = s.transaction_id WHERE'),
  )}
  -- A payment ends what was told. One that a reorganisation takes back is on its way again, whoever told its hash. The
  -- name sorts behind publish_updated_transactions, whose events come first.
  CREATE FUNCTION submissions_follow() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    -- Most updates only fill in gas.
    IF EXISTS (SELECT FROM added r JOIN removed o ON o.id = r.id WHERE r.status <> o.status) THEN
      DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM added WHERE status = 'CONFIRMED');
      INSERT INTO submissions (transaction_id, account, hash, at, check_at)
      SELECT r.id, r.account, o.tx_hash, now(), now() + interval '20 seconds'
      FROM added r JOIN removed o ON o.id = r.id
      WHERE o.status = 'CONFIRMED' AND r.status <> 'CONFIRMED' AND r.type = 'DEPOSIT'
      ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET hash = excluded.hash, at = excluded.at;
      ${publish(
        submitted(
          's.hash',
          `added t JOIN removed o ON o.id = t.id JOIN submissions s ON s.transaction_id = t.id
           WHERE o.status = 'EXPIRED' AND`,
        ),
      )}
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER submissions_follow AFTER UPDATE ON transactions
    REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION submissions_follow();

  CREATE FUNCTION submissions_end() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM removed WHERE status <> 'CONFIRMED');
    RETURN NULL;
  END $$;
  CREATE TRIGGER submissions_end AFTER DELETE ON transactions
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION submissions_end();
`;

const CANCELLING = `
  -- Takes a pool away into which nothing was paid. Says what became of it: cancelled (again), forbidden, submitted,
  -- not_empty; null: there is no such pool. The order of locks is that of all writers: the pool, totals, days, counts.
  CREATE FUNCTION cancel_pool(pool uuid, caller text) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    owner text;
    gone pools;
    deposit transactions;
  BEGIN
    SELECT u.address INTO owner FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.id = pool;
    IF owner IS NULL THEN
      RETURN (SELECT 'cancelled' FROM cancelled_pools c WHERE c.id = pool AND c.account = caller);
    END IF;
    IF owner <> caller THEN RETURN 'forbidden'; END IF;

    -- The indexer holds the pools of its events, so none of them is applied meanwhile.
    SELECT p.* INTO gone FROM pools p WHERE p.id = pool FOR UPDATE;
    IF NOT FOUND THEN
      RETURN (SELECT 'cancelled' FROM cancelled_pools c WHERE c.id = pool AND c.account = caller);
    END IF;
    -- Nobody tells a hash meanwhile either.
    SELECT t.* INTO deposit FROM transactions t
    WHERE t.pool_id = pool AND t.status IN ('PENDING', 'EXPIRED') FOR UPDATE;
    IF EXISTS (SELECT FROM submissions s WHERE s.transaction_id = deposit.id) THEN RETURN 'submitted'; END IF;
    IF gone.deposit_count > (deposit.id IS NOT NULL)::integer OR deposit.account <> owner OR gone.withdrawal_count > 0 OR gone.claim_count > 0
      OR EXISTS (SELECT FROM positions o WHERE o.pool_id = pool)
      OR EXISTS (SELECT FROM yield_accruals y WHERE y.pool_id = pool)
      -- The contract has made the pool.
      OR EXISTS (SELECT FROM pool_names n WHERE n.pool_id = pool)
      -- Its circle is there, though nobody has joined yet.
      OR EXISTS (SELECT FROM chain_events e WHERE e.pool_id = pool AND e.kind = 'CircleOpened' AND e.outcome = 'APPLIED')
      -- The contract has money of the pool that the ledger lacks: events without effect, or without confirmations.
      OR EXISTS (SELECT FROM chain_events e WHERE e.pool_id = pool AND e.contract = gone.contract_address
        AND e.outcome = 'WAITING')
      OR EXISTS (SELECT FROM chain_events e WHERE e.pool_id = pool AND e.contract = gone.contract_address
        AND e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED')) THEN
      RETURN 'not_empty';
    END IF;

    INSERT INTO cancelled_pools (id, type, owner_id, account, contract_address, auto_compound, members, deposit_id,
      amount, created_at, cancelled_at)
    VALUES (pool, gone.type, gone.owner_id, owner, gone.contract_address, gone.auto_compound,
      ARRAY(SELECT m.address::text FROM pool_members m WHERE m.pool_id = pool AND m.role = 'MEMBER' ORDER BY 1),
      deposit.id, deposit.requested_amount, gone.created_at, now());
    -- As create_pools does.
    PERFORM pg_advisory_xact_lock(hashtextextended('pool totals', pool_totals_shard()));
    PERFORM FROM owner_totals o WHERE o.owner_id = gone.owner_id AND o.type = gone.type AND o.writer = writer()
    FOR UPDATE;
    DELETE FROM transactions WHERE id = deposit.id;
    DELETE FROM pools WHERE id = pool;
    INSERT INTO outbox (count, items) SELECT 1, json_build_array(json_strip_nulls(json_build_object(
      'topic', 'pool.cancelled', 'occurredAt', iso(clock_timestamp()), 'poolId', pool, 'transactionId', deposit.id,
      'transactionType', deposit.type, 'account', owner, 'amount', deposit.amount::text)));
    RETURN 'cancelled';
  END $$;

  -- Brings back those of these pools that were cancelled, as they were: with their members and the pending deposit, under
  -- the same ids. Returns how many. Only events of a pool's own contract bring it back; null: that is known already.
  CREATE FUNCTION restore_pools(pools uuid[], contracts text[]) RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    back cancelled_pools;
    count integer := 0;
  BEGIN
    FOR back IN
      DELETE FROM cancelled_pools c USING (
        SELECT DISTINCT id, contract FROM unnest(restore_pools.pools, contracts) AS n(id, contract)) n
      WHERE c.id = n.id AND (n.contract IS NULL OR n.contract = c.contract_address) RETURNING c.*
    LOOP
      INSERT INTO pools (id, type, owner_id, contract_address, auto_compound, created_at, last_update)
      VALUES (back.id, back.type, back.owner_id, back.contract_address, back.auto_compound, back.created_at, now());
      INSERT INTO pool_members (pool_id, address, role, type)
      SELECT back.id, back.account, 'OWNER', back.type
      UNION ALL SELECT back.id, m.address, 'MEMBER', back.type FROM unnest(back.members) AS m(address);
      IF back.deposit_id IS NOT NULL THEN
        INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount,
          created_at)
        VALUES (back.deposit_id, back.id, back.owner_id, true, 'DEPOSIT', 'PENDING', back.account, back.amount,
          back.amount, back.created_at);
      END IF;
      count := count + 1;
    END LOOP;
    RETURN count;
  END $$;
`;
