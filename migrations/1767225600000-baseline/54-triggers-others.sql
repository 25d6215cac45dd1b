-- What keeps the rest: winners, sessions, and the state of webhooks.

CREATE TRIGGER lottery_draws_inserted AFTER INSERT ON lottery_draws
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_winners();
CREATE TRIGGER lottery_draws_updated AFTER UPDATE ON lottery_draws
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_winners();
CREATE TRIGGER lottery_draws_deleted AFTER DELETE ON lottery_draws
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_winners();
CREATE TRIGGER users_end_sessions AFTER UPDATE OF id, session_generation OR DELETE ON users
  FOR EACH ROW EXECUTE FUNCTION end_sessions();
CREATE TRIGGER webhooks_derived BEFORE INSERT OR UPDATE ON webhooks
  FOR EACH ROW EXECUTE FUNCTION webhooks_derived();
CREATE TRIGGER publish_webhooks AFTER UPDATE OF status ON webhooks FOR EACH ROW
  WHEN (NEW.status <> OLD.status AND (NEW.status IN ('PAUSED', 'DISABLED')
    OR NEW.status = 'ACTIVE' AND OLD.status = 'PAUSED'))
  EXECUTE FUNCTION publish_webhooks();
CREATE TRIGGER webhook_deliveries_inserted AFTER INSERT ON webhook_deliveries
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
CREATE TRIGGER webhook_deliveries_updated AFTER UPDATE ON webhook_deliveries
  REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
CREATE TRIGGER webhook_deliveries_deleted AFTER DELETE ON webhook_deliveries
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_changed();
CREATE TRIGGER keep_operator_records BEFORE INSERT OR UPDATE OR DELETE ON operator_records
  FOR EACH ROW EXECUTE FUNCTION keep_operator_records();
CREATE TRIGGER keep_all_operator_records BEFORE TRUNCATE ON operator_records
  FOR EACH STATEMENT EXECUTE FUNCTION keep_operator_records();
CREATE TRIGGER record_retries AFTER UPDATE OF again ON outbox_set_aside FOR EACH ROW
  WHEN (NEW.again AND NOT OLD.again) EXECUTE FUNCTION record_retries();
