-- Unpaid deposits whose payers have submitted a transaction's hash. Their events have no place on the chain, and come
-- after those by which the same transaction of the database takes back their deposits.

-- Stages the submitted hash of each of these deposits that is still pending: that of a confirmed one is no news.
CREATE OR REPLACE FUNCTION stage_submitted(deposits uuid[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF deposits = '{}' THEN RETURN; END IF;
  INSERT INTO outbox_staged (direction, blocks, logs, items)
  SELECT 0, array_agg(NULL::bigint), array_agg(NULL::bigint), array_agg(item)
  FROM (SELECT (row_number() OVER () - 1) / 1000 AS n, to_json(event) AS item FROM (
    SELECT 'deposit.submitted' AS topic, iso(clock_timestamp()) AS "occurredAt", t.pool_id AS "poolId",
      t.id AS "transactionId", t.account, t.amount::text AS amount, s.hash AS "txHash"
    FROM transactions t LEFT JOIN submissions s ON s.transaction_id = t.id
    WHERE t.id = ANY(deposits) AND t.status = 'PENDING' ORDER BY t.id) event) numbered
  GROUP BY n ORDER BY n;
END $$;

CREATE OR REPLACE FUNCTION publish_submissions() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    PERFORM stage_submitted(ARRAY(SELECT s.transaction_id
      FROM changed s JOIN former o USING (transaction_id) WHERE s.hash <> o.hash));
  ELSE
    PERFORM stage_submitted(ARRAY(SELECT transaction_id FROM changed));
  END IF;
  RETURN NULL;
END $$;

-- A payment ends its submission. One that a reorganisation takes back is on its way again, whoever submitted its hash. The
-- name sorts after publish_updated_transactions, whose events come first.
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
    PERFORM stage_submitted(ARRAY(SELECT t.id FROM added t JOIN removed o ON o.id = t.id
      JOIN submissions s ON s.transaction_id = t.id WHERE o.status = 'EXPIRED' AND t.status = 'PENDING'));
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION submissions_end() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM removed WHERE status <> 'CONFIRMED');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER publish_told AFTER INSERT ON submissions
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION publish_submissions();
CREATE OR REPLACE TRIGGER publish_told_again AFTER UPDATE ON submissions
  REFERENCING NEW TABLE AS changed OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION publish_submissions();
CREATE OR REPLACE TRIGGER publish_taken_back AFTER DELETE ON submissions
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION publish_submissions();
CREATE OR REPLACE TRIGGER submissions_follow AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION submissions_follow();
CREATE OR REPLACE TRIGGER submissions_end AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION submissions_end();

DROP FUNCTION IF EXISTS publish_told, publish_told_again, publish_taken_back;
