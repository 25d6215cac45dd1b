-- Keeps lottery_totals.

CREATE OR REPLACE FUNCTION count_winners() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  change bigint := 0;
BEGIN
  IF TG_OP <> 'DELETE' THEN
    change := (SELECT count(*) FROM added WHERE status = 'COMPLETED');
  END IF;
  IF TG_OP <> 'INSERT' THEN
    change := change - (SELECT count(*) FROM removed WHERE status = 'COMPLETED');
  END IF;
  IF change <> 0 THEN
    UPDATE lottery_totals SET winners = winners + change;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER lottery_draws_inserted AFTER INSERT ON lottery_draws
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_winners();
CREATE OR REPLACE TRIGGER lottery_draws_updated AFTER UPDATE ON lottery_draws
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_winners();
CREATE OR REPLACE TRIGGER lottery_draws_deleted AFTER DELETE ON lottery_draws
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_winners();
