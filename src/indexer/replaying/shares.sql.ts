import { MAX_LOGS } from '#indexer/reading/raw-chain';

/** The statements by which a replay rebuilds what the logs of vaults have become. */

/** Row: vault. */
export const VAULTS = `
  SELECT DISTINCT address AS vault FROM chain_contracts c
  WHERE EXISTS (SELECT FROM chain_events e WHERE e.contract = c.address AND e.shares IS NOT NULL)
  UNION SELECT DISTINCT vault FROM share_holdings ORDER BY vault`;

/** Rows of a vault in the order of their numbers. Parameters: vault, number to go on behind, limit. */
export const ROWS = `
  SELECT * FROM chain_events WHERE contract = $1 AND seq > $2 AND shares IS NOT NULL ORDER BY seq LIMIT $3`;

/** Whether a row is still there. Parameters: vault, number, hash of its block. */
export const IS_THERE = 'SELECT FROM chain_events WHERE contract = $1 AND seq = $2 AND block_hash = $3';

/** Rows that have to be others. Parameters: blocks, logs, hashes of blocks, kinds, accounts, amounts, shares. */
export const CHANGE = `
  UPDATE chain_events e SET kind = w.kind, account = w.account, pool_name = w.name, amount = w.amount, shares = w.shares,
    pool_id = CASE e.pool_name WHEN w.name THEN e.pool_id ELSE pool_stand_in(e.contract, w.name) END
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::numeric[], $8::numeric[])
    AS w(block_number, log_index, block_hash, kind, account, name, amount, shares)
  WHERE e.block_number = w.block_number AND e.log_index = w.log_index AND e.block_hash = w.block_hash`;
/** Second rows that are missing. The same parameters. */
export const ADD = `
  INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
    pool_name, account, amount, shares)
  SELECT e.block_number, w.log_index, e.block_hash, e.block_time, e.tx_hash, e.contract, e.seq + ${MAX_LOGS}, w.kind,
    pool_stand_in(e.contract, w.name), w.name, w.account, w.amount, w.shares
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::numeric[], $8::numeric[])
    AS w(block_number, log_index, block_hash, kind, account, name, amount, shares)
  JOIN chain_events e ON e.block_number = w.block_number AND e.log_index = w.log_index - ${MAX_LOGS}
    AND e.block_hash = w.block_hash`;
/** Second rows that should not be. Parameters: blocks, logs, hashes of blocks. */
export const REMOVE = `
  DELETE FROM chain_events e USING unnest($1::bigint[], $2::bigint[], $3::text[]) AS w(block_number, log_index, block_hash)
  WHERE e.block_number = w.block_number AND e.log_index = w.log_index AND e.block_hash = w.block_hash`;

/** The schema of the tables, quoted: tables of the session stand before its own. */
export const SCHEMA = 'SELECT quote_ident(current_schema()) AS schema';
/** What is made is kept in a table of the session, which stands before that of the schema. */
export const MAKE_SHADOW = (schema: string): string => `
  DROP TABLE IF EXISTS pg_temp.share_holdings; CREATE TEMP TABLE share_holdings (LIKE ${schema}.share_holdings INCLUDING ALL)`;
export const DROP_SHADOW = 'DROP TABLE IF EXISTS pg_temp.share_holdings';

/** Holdings that are not those made. Parameters: vault, account to go on behind, limit. */
export const wrongHoldings = (schema: string): string => `
  SELECT account, coalesce(m.shares, 0)::text AS shares, coalesce(m.cost, 0)::text AS cost
  FROM (SELECT * FROM pg_temp.share_holdings WHERE vault = $1 AND account > $2) m
  FULL JOIN (SELECT * FROM ${schema}.share_holdings WHERE vault = $1 AND account > $2) k USING (account)
  WHERE (m.shares, m.cost) IS DISTINCT FROM (k.shares, k.cost) ORDER BY account LIMIT $3`;
