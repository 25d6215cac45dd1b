-- Keeps lottery_totals.

CREATE FUNCTION count_winners() RETURNS trigger LANGUAGE plpgsql
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
