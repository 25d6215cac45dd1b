/** Positions and what their yield is computed from, in the order in which they are made. */
export const TABLES = {
  pool_weights: {
    key: `w.pool_id::text`,
    columns: ['total', 'weight_offset', 'accruals', 'last_time', 'last_per_unit'],
  },
  accrual_rates: {
    key: `concat_ws(' ', w.pool_id, w.number)`,
    columns: ['time', 'per_weight', 'per_unit'],
  },
  positions: {
    key: `concat_ws(' ', w.pool_id, w.address)`,
    columns: ['balance', 'weight_offset', 'owed', 'accruals', 'deposited', 'withdrawn', 'claimed'],
  },
} as const;
export type Table = keyof typeof TABLES;
export const TABLE_NAMES = Object.keys(TABLES) as Table[];

/** Rows: key, and the columns as text. Parameter: pool ids. */
export const stored = (table: Table): string => `
  SELECT ${TABLES[table].key} AS key, ${TABLES[table].columns.map((column) => `w.${column}::text`).join(', ')}
  FROM ${table} w WHERE w.pool_id = ANY($1::uuid[])`;

/** Parameter: rows as JSON, by the names of columns. */
export const insert = (table: Table): string =>
  `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`;

/** Former rows are no good after a mend; without them the indexer goes back by replaying. Parameter: pool ids. */
export const CLEAR_POOLS = [...TABLE_NAMES, 'position_journal'].map(
  (table) => `DELETE FROM ${table} WHERE pool_id = ANY($1::uuid[])`,
);

/**
 * What counts for a contract of pools, in the order of the chain: the confirmed ledger, and events of the pool's own
 * contract that are set aside. Parameter: pool ids.
 */
export const OPEN_EVENTS = `
  DECLARE verified_events NO SCROLL CURSOR FOR
  SELECT pool, kind, account, amount::text, extract(epoch FROM time)::bigint::text AS time FROM (
    SELECT t.pool_id AS pool, t.block_number, t.log_index, t.account, t.amount, t.confirmed_at AS time,
      CASE t.type WHEN 'DEPOSIT' THEN 'Deposited' WHEN 'WITHDRAWAL' THEN 'Withdrawn' WHEN 'YIELD_CLAIM' THEN 'YieldClaimed' END AS kind
    FROM transactions t WHERE t.pool_id = ANY($1::uuid[]) AND t.status = 'CONFIRMED'
    UNION ALL
    SELECT y.pool_id, y.block_number, y.log_index, NULL, y.amount, y.accrued_at, 'YieldAccrued'
    FROM yield_accruals y WHERE y.pool_id = ANY($1::uuid[])
    UNION ALL
    SELECT e.pool_id, e.block_number, e.log_index, e.account, e.amount, e.block_time, e.kind
    FROM pools p JOIN chain_events e ON e.pool_id = p.id AND e.contract = p.contract_address
    WHERE p.id = ANY($1::uuid[]) AND e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED')
  ) events ORDER BY pool, block_number, log_index`;
export const NEXT_EVENTS = 'FETCH 5000 FROM verified_events';
export const CLOSE_EVENTS = 'CLOSE verified_events';
