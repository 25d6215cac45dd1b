-- What all accounts have of a vault. Only the process that has the cursor writes holdings, so no two wait for each other.
-- What those have lost who have no shares any more is not counted: nobody can make up for it.

CREATE OR REPLACE FUNCTION share_holdings_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP IN ('INSERT', 'UPDATE') THEN
    INSERT INTO share_totals AS t (vault, shares, cost)
    SELECT vault, sum(shares), sum(cost) FROM added WHERE shares > 0 GROUP BY 1 ORDER BY 1
    ON CONFLICT ON CONSTRAINT share_totals_pkey DO UPDATE SET shares = t.shares + excluded.shares,
      cost = t.cost + excluded.cost;
  END IF;
  IF TG_OP IN ('UPDATE', 'DELETE') THEN
    UPDATE share_totals t SET shares = t.shares - r.shares, cost = t.cost - r.cost
    FROM (SELECT vault, sum(shares) AS shares, sum(cost) AS cost FROM removed WHERE shares > 0 GROUP BY 1) r
    WHERE t.vault = r.vault;
    DELETE FROM share_totals t WHERE t.shares = 0 AND t.cost = 0 AND t.vault IN (SELECT vault FROM removed);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER share_holdings_inserted AFTER INSERT ON share_holdings
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION share_holdings_changed();
CREATE OR REPLACE TRIGGER share_holdings_updated AFTER UPDATE ON share_holdings
  REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION share_holdings_changed();
CREATE OR REPLACE TRIGGER share_holdings_deleted AFTER DELETE ON share_holdings
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION share_holdings_changed();
