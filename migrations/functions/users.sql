-- Any change of a user's sessions or id, even by an operator, ends the sessions at once.
CREATE OR REPLACE FUNCTION end_sessions() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO session_endings (user_id, expires_at) VALUES (OLD.id, now());
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER users_end_sessions AFTER UPDATE OF id, session_generation OR DELETE ON users
  FOR EACH ROW EXECUTE FUNCTION end_sessions();

-- account_days and pool_members hold addresses too. Signing in assigns the same address again, which is allowed.
CREATE OR REPLACE TRIGGER users_fixed BEFORE UPDATE ON users FOR EACH ROW
  WHEN (NEW.id <> OLD.id OR NEW.address <> OLD.address) EXECUTE FUNCTION refuse_write('addresses never change');
