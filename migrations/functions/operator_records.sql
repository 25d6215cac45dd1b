-- Roles that may write a record can neither change one nor take it away, and sign it with the role that connected.
CREATE OR REPLACE FUNCTION keep_operator_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.role := session_user;
    NEW.begun_at := clock_timestamp();
    NEW.ended_at := CASE WHEN NEW.outcome IS NOT NULL THEN NEW.begun_at END;
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL
    AND (NEW.id, NEW.command, NEW.arguments, NEW.person, NEW.role, NEW.begun_at)
      = (OLD.id, OLD.command, OLD.arguments, OLD.person, OLD.role, OLD.begun_at) THEN
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
  ELSIF TG_OP = 'DELETE' AND OLD.begun_at < now() - interval '3 years' THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'records of operators stay as they are' USING ERRCODE = 'insufficient_privilege';
END $$;

-- It is done by SQL. `savings.operator` may name who does it.
CREATE OR REPLACE FUNCTION record_retries() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO operator_records (command, arguments, person, outcome)
  VALUES ('retry', NEW.consumer || ' ' || NEW.event_id,
    coalesce(nullif(current_setting('savings.operator', true), ''), 'by SQL'), 'done');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER keep_operator_records BEFORE INSERT OR UPDATE OR DELETE ON operator_records
  FOR EACH ROW EXECUTE FUNCTION keep_operator_records();
CREATE OR REPLACE TRIGGER keep_all_operator_records BEFORE TRUNCATE ON operator_records
  FOR EACH STATEMENT EXECUTE FUNCTION keep_operator_records();
CREATE OR REPLACE TRIGGER record_retries AFTER UPDATE OF again ON outbox_set_aside FOR EACH ROW
  WHEN (NEW.again AND NOT OLD.again) EXECUTE FUNCTION record_retries();
