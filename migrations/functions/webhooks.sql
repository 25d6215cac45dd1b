-- What webhooks derive from their deliveries. A full webhook gets events again at 500 pending ones, half of
-- MOST_PENDING of the fan-out. A server is asked for the challenge 3 times until its owner asks again.

-- Keeps webhooks.lane and due_at, which follow from the rest of the row.
CREATE OR REPLACE FUNCTION webhooks_derived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.lane := CASE
    WHEN NEW.status = 'UNVERIFIED' THEN 'challenge'
    WHEN NEW.status = 'ACTIVE' AND NEW.failures = 0 AND NOT NEW.is_slow THEN 'quick'
    ELSE 'slow' END;
  NEW.due_at := CASE NEW.status
    WHEN 'UNVERIFIED' THEN CASE WHEN NEW.challenge_tries < 3 THEN NEW.retry_at END
    WHEN 'DISABLED' THEN NULL
    ELSE CASE WHEN NEW.next_delivery_at IS NOT NULL
      THEN greatest(NEW.retry_at, NEW.taken_until, NEW.next_delivery_at) END END;
  RETURN NEW;
END $$;

-- Owners are notified, and what waits for a webhook that is disabled, a thousand deliveries at most, fails. Those that
-- another transaction has locked stay PENDING until they are old or the webhook is enabled.
CREATE OR REPLACE FUNCTION publish_webhooks() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO outbox (count, items) VALUES (1, json_build_array(json_strip_nulls(json_build_object(
    'topic', CASE NEW.status WHEN 'PAUSED' THEN 'webhook.paused' WHEN 'DISABLED' THEN 'webhook.disabled'
      ELSE 'webhook.resumed' END,
    'occurredAt', iso(clock_timestamp()), 'account', NEW.address, 'webhookId', NEW.id,
    'reason', CASE WHEN NEW.status <> 'ACTIVE' THEN coalesce(NEW.last_error, 'disabled by its owner') END))));
  IF NEW.status = 'DISABLED' THEN
    UPDATE webhook_deliveries SET status = 'FAILED', last_error = coalesce(last_error, 'the webhook is disabled')
    WHERE id = ANY (ARRAY(
      SELECT id FROM webhook_deliveries WHERE webhook_id = NEW.id AND status = 'PENDING' FOR UPDATE SKIP LOCKED));
  END IF;
  RETURN NULL;
END $$;

-- Keeps webhooks.pending and next_delivery_at. A trigger, so that no writer can forget them.
CREATE OR REPLACE FUNCTION webhook_deliveries_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  begun uuid[] := '{}';
  ended uuid[] := '{}';
  has_emptied boolean;
BEGIN
  IF TG_OP <> 'DELETE' THEN begun := ARRAY(SELECT webhook_id FROM added WHERE status = 'PENDING'); END IF;
  IF TG_OP <> 'INSERT' THEN ended := ARRAY(SELECT webhook_id FROM removed WHERE status = 'PENDING'); END IF;
  -- In one order in all transactions. The locks are taken before the next delivery is looked up, so that it is of
  -- all that is committed.
  PERFORM FROM webhooks WHERE id = ANY(begun || ended) ORDER BY id FOR NO KEY UPDATE;
  WITH stored AS (
    UPDATE webhooks w SET pending = w.pending + c.n, next_delivery_at = (
      SELECT d.next_attempt_at FROM webhook_deliveries d
      WHERE d.webhook_id = w.id AND d.status = 'PENDING' ORDER BY d.next_attempt_at LIMIT 1)
    FROM (SELECT id, sum(n)::integer AS n
      FROM (SELECT unnest(begun) AS id, 1 AS n UNION ALL SELECT unnest(ended), -1) one GROUP BY id) c
    WHERE w.id = c.id
    RETURNING w.is_full AND w.pending <= 500 AS has_emptied
  )
  SELECT bool_or(s.has_emptied) INTO has_emptied FROM stored s;
  -- Events come again. The notice is made now and not when the first one was left out, so that whoever reads
  -- everything anew when it comes has missed none.
  IF has_emptied THEN
    WITH emptied AS (
      SELECT id, left_out, status FROM webhooks WHERE id = ANY(begun || ended) AND is_full AND pending <= 500
    ), opened AS (
      UPDATE webhooks w SET is_full = false, left_out = NULL FROM emptied e WHERE w.id = e.id
    )
    INSERT INTO webhook_deliveries (webhook_id, event_id, topic)
    SELECT id, left_out, 'reload' FROM emptied WHERE status <> 'DISABLED'
    ON CONFLICT ON CONSTRAINT webhook_deliveries_event_key DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER webhooks_derived BEFORE INSERT OR UPDATE ON webhooks
  FOR EACH ROW EXECUTE FUNCTION webhooks_derived();
CREATE OR REPLACE TRIGGER publish_webhooks AFTER UPDATE OF status ON webhooks FOR EACH ROW
  WHEN (NEW.status <> OLD.status AND (NEW.status IN ('PAUSED', 'DISABLED')
    OR NEW.status = 'ACTIVE' AND OLD.status = 'PAUSED'))
  EXECUTE FUNCTION publish_webhooks();
CREATE OR REPLACE TRIGGER webhook_deliveries_inserted AFTER INSERT ON webhook_deliveries
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
CREATE OR REPLACE TRIGGER webhook_deliveries_updated AFTER UPDATE ON webhook_deliveries
  REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
CREATE OR REPLACE TRIGGER webhook_deliveries_deleted AFTER DELETE ON webhook_deliveries
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
