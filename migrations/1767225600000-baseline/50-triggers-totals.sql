-- What keeps the totals: see 31 to 36 and 48. create_pools keeps those of its rows itself.

CREATE TRIGGER transactions_inserting BEFORE INSERT ON transactions FOR EACH ROW
  WHEN (NEW.owner_id IS NULL OR NEW.by_owner IS NULL) EXECUTE FUNCTION transactions_inserting();
CREATE TRIGGER transactions_inserted AFTER INSERT ON transactions
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT WHEN (creating() IS NOT TRUE)
  EXECUTE FUNCTION transactions_inserted();
CREATE TRIGGER transactions_updated AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION transactions_updated();
CREATE TRIGGER transactions_deleted AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION transactions_deleted();
CREATE TRIGGER yield_accruals_inserted AFTER INSERT ON yield_accruals
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_inserted();
CREATE TRIGGER yield_accruals_deleted AFTER DELETE ON yield_accruals
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION yield_accruals_deleted();
CREATE TRIGGER pools_inserted AFTER INSERT ON pools
  FOR EACH ROW WHEN (creating() IS NOT TRUE) EXECUTE FUNCTION pools_inserted();
CREATE TRIGGER pools_deleted AFTER DELETE ON pools
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION pools_deleted();
CREATE TRIGGER pool_members_inserting BEFORE INSERT ON pool_members FOR EACH ROW
  WHEN (NEW.indexed IS NULL) EXECUTE FUNCTION pool_members_inserting();
CREATE TRIGGER pool_members_inserted AFTER INSERT ON pool_members FOR EACH ROW
  WHEN (NEW.role = 'MEMBER' AND creating() IS NOT TRUE) EXECUTE FUNCTION pool_members_inserted();
CREATE TRIGGER pool_members_deleting BEFORE DELETE ON pool_members
  FOR EACH ROW WHEN (OLD.role = 'OWNER') EXECUTE FUNCTION pool_members_deleting();
CREATE TRIGGER pool_members_deleted AFTER DELETE ON pool_members
  FOR EACH ROW WHEN (OLD.role = 'MEMBER') EXECUTE FUNCTION pool_members_deleted();
CREATE TRIGGER create_pools INSTEAD OF INSERT ON new_pools FOR EACH ROW EXECUTE FUNCTION create_pools();

CREATE TRIGGER share_holdings_inserted AFTER INSERT ON share_holdings
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION share_holdings_changed();
CREATE TRIGGER share_holdings_updated AFTER UPDATE ON share_holdings
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION share_holdings_changed();
CREATE TRIGGER share_holdings_deleted AFTER DELETE ON share_holdings
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION share_holdings_changed();
