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
    -- A full join, as in transactions.sql.
    PERFORM stage_submitted(ARRAY(SELECT transaction_id
      FROM changed s FULL JOIN former o USING (transaction_id) WHERE s.hash IS DISTINCT FROM o.hash));
  ELSE
    PERFORM stage_submitted(ARRAY(SELECT transaction_id FROM changed));
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER publish_told AFTER INSERT ON submissions
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION publish_submissions();
CREATE OR REPLACE TRIGGER publish_told_again AFTER UPDATE ON submissions
  REFERENCING NEW TABLE AS changed OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION publish_submissions();
CREATE OR REPLACE TRIGGER publish_taken_back AFTER DELETE ON submissions
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION publish_submissions();
