-- Deposits that are not paid yet, whose payers told hashes. Their events have no place on the chain, and come behind
-- what the transaction takes back of their deposits.

CREATE OR REPLACE FUNCTION publish_told() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT 0, array_agg(NULL::bigint), array_agg(NULL::bigint), array_agg(to_json(event))
  FROM (SELECT row_number() OVER () - 1 AS n, event FROM (
    SELECT 'deposit.submitted' AS topic, iso(clock_timestamp()) AS "occurredAt", t.pool_id AS "poolId",
      t.id AS "transactionId", t.account, t.amount::text AS amount, s.hash AS "txHash"
    FROM added s JOIN transactions t ON t.id = s.transaction_id
    WHERE t.status = 'PENDING' ORDER BY t.id) event) numbered
  GROUP BY n / 1000;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION publish_told_again() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT 0, array_agg(NULL::bigint), array_agg(NULL::bigint), array_agg(to_json(event))
  FROM (SELECT row_number() OVER () - 1 AS n, event FROM (
    SELECT 'deposit.submitted' AS topic, iso(clock_timestamp()) AS "occurredAt", t.pool_id AS "poolId",
      t.id AS "transactionId", t.account, t.amount::text AS amount, s.hash AS "txHash"
    FROM added s JOIN removed o USING (transaction_id) JOIN transactions t ON t.id = s.transaction_id
    WHERE s.hash <> o.hash AND t.status = 'PENDING' ORDER BY t.id) event) numbered
  GROUP BY n / 1000;
  RETURN NULL;
END $$;

-- Of a deposit that was confirmed it is no news.
CREATE OR REPLACE FUNCTION publish_taken_back() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT 0, array_agg(NULL::bigint), array_agg(NULL::bigint), array_agg(to_json(event))
  FROM (SELECT row_number() OVER () - 1 AS n, event FROM (
    SELECT 'deposit.submitted' AS topic, iso(clock_timestamp()) AS "occurredAt", t.pool_id AS "poolId",
      t.id AS "transactionId", t.account, t.amount::text AS amount, NULL::text AS "txHash"
    FROM removed s JOIN transactions t ON t.id = s.transaction_id
    WHERE t.status = 'PENDING' ORDER BY t.id) event) numbered
  GROUP BY n / 1000;
  RETURN NULL;
END $$;

-- A payment ends what was told. One that a reorganisation takes back is on its way again, whoever told its hash. The
-- name sorts behind publish_updated_transactions, whose events come first.
CREATE OR REPLACE FUNCTION submissions_follow() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  -- Most updates only fill in gas.
  IF EXISTS (SELECT FROM added r JOIN removed o ON o.id = r.id WHERE r.status <> o.status) THEN
    DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM added WHERE status = 'CONFIRMED');
    -- It was on the chain: only the chain can say that it will not come again.
    INSERT INTO submissions (transaction_id, account, hash, at, check_at, known)
    SELECT r.id, r.account, o.tx_hash, now(), now() + interval '20 seconds', true
    FROM added r JOIN removed o ON o.id = r.id
    WHERE o.status = 'CONFIRMED' AND r.status <> 'CONFIRMED' AND r.type = 'DEPOSIT'
    ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET hash = excluded.hash, at = excluded.at, known = true,
      sender = NULL, nonce = NULL;
    INSERT INTO outbox_staged (direction, blocks, logs, items)
    SELECT 0, array_agg(NULL::bigint), array_agg(NULL::bigint), array_agg(to_json(event))
    FROM (SELECT row_number() OVER () - 1 AS n, event FROM (
      SELECT 'deposit.submitted' AS topic, iso(clock_timestamp()) AS "occurredAt", t.pool_id AS "poolId",
        t.id AS "transactionId", t.account, t.amount::text AS amount, s.hash AS "txHash"
      FROM added t JOIN removed o ON o.id = t.id JOIN submissions s ON s.transaction_id = t.id
      WHERE o.status = 'EXPIRED' AND t.status = 'PENDING' ORDER BY t.id) event) numbered
    GROUP BY n / 1000;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION submissions_end() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM removed WHERE status <> 'CONFIRMED');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER publish_told AFTER INSERT ON submissions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION publish_told();
CREATE OR REPLACE TRIGGER publish_told_again AFTER UPDATE ON submissions REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_told_again();
CREATE OR REPLACE TRIGGER publish_taken_back AFTER DELETE ON submissions REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_taken_back();
CREATE OR REPLACE TRIGGER submissions_follow AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION submissions_follow();
CREATE OR REPLACE TRIGGER submissions_end AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION submissions_end();
