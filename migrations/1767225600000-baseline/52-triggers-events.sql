-- What fills the outbox. create_pools writes its event itself.

CREATE CONSTRAINT TRIGGER publish_staged AFTER INSERT ON outbox_staged DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION publish_staged();
CREATE TRIGGER publish_pools AFTER INSERT ON pools REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT WHEN (creating() IS NOT TRUE) EXECUTE FUNCTION publish_pools();
CREATE TRIGGER publish_inserted_transactions AFTER INSERT ON transactions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT WHEN (creating() IS NOT TRUE) EXECUTE FUNCTION publish_inserted_transactions();
CREATE TRIGGER publish_updated_transactions AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT
  EXECUTE FUNCTION publish_updated_transactions();
CREATE TRIGGER publish_deleted_transactions AFTER DELETE ON transactions REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_deleted_transactions();
CREATE TRIGGER publish_accruals AFTER INSERT ON yield_accruals REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION publish_accruals();
CREATE TRIGGER publish_deleted_accruals AFTER DELETE ON yield_accruals REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_deleted_accruals();
CREATE TRIGGER publish_inserted_draw_events AFTER INSERT ON chain_events REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION publish_inserted_draw_events();
CREATE TRIGGER publish_updated_draw_events AFTER UPDATE ON chain_events
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION publish_updated_draw_events();
CREATE TRIGGER publish_deleted_draw_events AFTER DELETE ON chain_events REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_deleted_draw_events();
