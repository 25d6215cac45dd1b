-- Keeps lottery_totals.
CREATE OR REPLACE FUNCTION count_winners() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  change CONSTANT integer := coalesce((NEW.status = 'COMPLETED')::integer, 0)
    - coalesce((OLD.status = 'COMPLETED')::integer, 0);
BEGIN
  IF change <> 0 THEN
    UPDATE lottery_totals SET winners = winners + change;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER lottery_draws_changed AFTER INSERT OR UPDATE OF status OR DELETE ON lottery_draws
  FOR EACH ROW EXECUTE FUNCTION count_winners();
