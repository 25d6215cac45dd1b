-- What tells of deposits that are on their way.

CREATE TRIGGER publish_told AFTER INSERT ON submissions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION publish_told();
CREATE TRIGGER publish_told_again AFTER UPDATE ON submissions REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_told_again();
CREATE TRIGGER publish_taken_back AFTER DELETE ON submissions REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION publish_taken_back();
CREATE TRIGGER submissions_follow AFTER UPDATE ON transactions
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION submissions_follow();
CREATE TRIGGER submissions_end AFTER DELETE ON transactions
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION submissions_end();
