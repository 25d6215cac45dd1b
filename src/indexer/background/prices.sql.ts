import { MOST_DAYS } from '#ledger/chain/chain.sql';

/**
 * The vaults whose price at the last block in effect is not known, those first that wait longest. Parameter: limit. Row:
 * vault, the function to ask, number and hash of the block.
 */
export const DUE = `
  SELECT k.vault, k.view, b.number AS "cursorNumber", b.hash AS "cursorHash"
  FROM (SELECT DISTINCT address AS vault, price_view AS view FROM chain_contracts WHERE price_view IS NOT NULL) k
  CROSS JOIN chain_cursor c JOIN chain_blocks b ON b.number = c.applied_number
  LEFT JOIN LATERAL (SELECT block_number FROM share_prices WHERE vault = k.vault ORDER BY day DESC LIMIT 1) s ON true
  WHERE s.block_number IS DISTINCT FROM b.number ORDER BY s.block_number NULLS FIRST, k.vault LIMIT $1`;

/** A reorganisation locks the cursor first. */
export const HOLD_CURSOR = 'SELECT FROM chain_cursor FOR SHARE';

/** The newest price of a day, if the block is still the ledger's. Parameters: number and hash of the block, vaults, prices. */
export const SAVE = `
  INSERT INTO share_prices (vault, day, block_number, block_time, price)
  SELECT w.vault, (b.time AT TIME ZONE 'UTC')::date, b.number, b.time, w.price
  FROM unnest($3::text[], $4::numeric[]) AS w(vault, price) CROSS JOIN chain_blocks b
  WHERE b.number = $1 AND b.hash = $2
  ON CONFLICT ON CONSTRAINT share_prices_pkey DO UPDATE
    SET block_number = excluded.block_number, block_time = excluded.block_time, price = excluded.price`;

/** Parameter: vaults. */
export const FORGET = `
  DELETE FROM share_prices p WHERE vault = ANY($1::text[])
    AND day < (SELECT max(day) FROM share_prices n WHERE n.vault = p.vault) - ${MOST_DAYS}`;
