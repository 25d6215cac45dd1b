import { MAX_LOGS } from '#indexer/reading/raw-chain';
import { LEAST_TRADED } from './movements';

/** The statements that keep what accounts have of vaults. */

/** What accounts have, and whether the vault is one pool. Parameters: vaults, accounts. */
export const LOAD = `
  SELECT w.vault, w.account, coalesce(h.shares, 0)::text AS shares, coalesce(h.cost, 0)::text AS cost,
    EXISTS (SELECT FROM chain_contracts k WHERE k.address = w.vault AND k.pools_by = 'contract') AS "isPool"
  FROM unnest($1::text[], $2::text[]) AS w(vault, account)
  LEFT JOIN share_holdings h ON h.vault = w.vault AND h.account = w.account`;

/**
 * The last trade of each vault before an event that tells the price, as `movementsOf` says. Parameters: vaults, numbers of
 * their events.
 */
export const LOAD_TRADES = `
  SELECT w.vault, t.amount::text, t.shares::text FROM unnest($1::text[], $2::bigint[]) AS w(vault, seq) CROSS JOIN LATERAL (
    SELECT e.amount + coalesce(o.amount, 0) AS amount, e.shares FROM chain_events e
    LEFT JOIN chain_events o ON o.contract = e.contract AND o.seq = e.seq + ${MAX_LOGS}
    WHERE e.contract = w.vault AND e.seq < w.seq AND e.log_index < ${MAX_LOGS}
      AND CASE e.kind WHEN 'Deposited' THEN o.kind IS NULL AND e.amount >= ${LEAST_TRADED} AND e.shares >= ${LEAST_TRADED}
        WHEN 'Withdrawn' THEN e.amount + o.amount >= ${LEAST_TRADED} AND e.shares > 0
        END
    ORDER BY e.seq DESC LIMIT 1) t`;

/** SQL: writes holdings as they are in the table `made`; those of nothing go. */
const save = (made: string): string => `
  ${made}, gone AS (
    DELETE FROM share_holdings h USING made m
    WHERE h.vault = m.vault AND h.account = m.account AND m.shares = 0 AND m.cost = 0
  )
  INSERT INTO share_holdings (vault, account, shares, cost)
  SELECT vault, account, shares, cost FROM made WHERE shares <> 0 OR cost <> 0
  ON CONFLICT ON CONSTRAINT share_holdings_pkey DO UPDATE SET shares = excluded.shares, cost = excluded.cost`;

/** Parameters: vaults, accounts, shares, costs. */
export const SAVE = save(`
  WITH made AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::numeric[], $4::numeric[]) AS m(vault, account, shares, cost)
  )`);

/**
 * Makes the holdings of accounts with events after block $1 again from those before, ahead of their deletion. Parameter 2:
 * the vault whose events alone are meant, or null.
 */
export const TAKE_BACK = save(`
  WITH made AS MATERIALIZED (
    SELECT w.vault, w.account, coalesce(sum(CASE e.kind WHEN 'Deposited' THEN e.shares ELSE -e.shares END), 0) AS shares,
      coalesce(sum(CASE e.kind WHEN 'Deposited' THEN e.amount ELSE -e.amount END), 0) AS cost
    FROM (SELECT DISTINCT contract AS vault, account FROM chain_events
      WHERE block_number > $1 AND contract = coalesce($2::text, contract) AND shares IS NOT NULL) w
    LEFT JOIN chain_events e ON e.contract = w.vault AND e.account = w.account AND e.shares IS NOT NULL
      AND e.block_number <= $1 AND e.kind IN ('Deposited', 'Withdrawn')
    GROUP BY 1, 2
  )`);
