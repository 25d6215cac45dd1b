/** The ledger row that an event should have. */
const MOVEMENT = `
  t.status = 'CONFIRMED' AND t.pool_id = e.pool_id AND t.account = e.account AND t.amount = e.amount
  AND t.tx_hash = e.tx_hash AND t.block_number = e.block_number AND t.log_index = e.log_index
  AND t.type = CASE e.kind WHEN 'Deposited' THEN 'DEPOSIT' WHEN 'Withdrawn' THEN 'WITHDRAWAL'
    WHEN 'YieldClaimed' THEN 'YIELD_CLAIM' END`;
const ACCRUAL = `y.amount = e.amount AND y.apr_bps = e.apr_bps`;

/**
 * Checks events in the order of their numbers: whether the numbers have no gaps, and whether each applied event has its
 * row in the ledger. Of the event before the first, only the number is read. Row: last contract and number, number of
 * events, differences. Parameters: contract and number to go on after, limit.
 */
export const COMPARE_EVENTS = `
  WITH batch AS MATERIALIZED (
    SELECT * FROM chain_events WHERE (contract, seq) > ($1::text, $2::bigint) ORDER BY contract, seq LIMIT $3
  ), numbered AS (
    SELECT contract, seq, lag(seq, 1, CASE contract WHEN $1 THEN $2::bigint END)
      OVER (PARTITION BY contract ORDER BY seq) AS before FROM batch
  ), wrong AS (
    SELECT 'chain_events.seq' AS kind, contract || ' ' || seq AS id, (seq - 1)::text AS wanted, before::text AS found,
      NULL::uuid AS pool
    FROM numbered WHERE before <> seq - 1
    UNION ALL
    SELECT 'chain_events.transaction', concat_ws(' ', e.block_number, e.log_index), e.transaction_id::text,
      CASE WHEN t.id IS NOT NULL THEN 'differs' END, e.pool_id
    FROM batch e LEFT JOIN transactions t ON t.id = e.transaction_id
    WHERE e.outcome = 'APPLIED' AND e.kind IN ('Deposited', 'Withdrawn', 'YieldClaimed') AND (${MOVEMENT}) IS NOT TRUE
    UNION ALL
    SELECT 'chain_events.accrual', concat_ws(' ', e.block_number, e.log_index), e.amount::text,
      CASE WHEN y.pool_id IS NOT NULL THEN 'differs' END, e.pool_id
    FROM batch e LEFT JOIN yield_accruals y
      ON y.pool_id = e.pool_id AND y.block_number = e.block_number AND y.log_index = e.log_index
    WHERE e.outcome = 'APPLIED' AND e.kind = 'YieldAccrued' AND (${ACCRUAL}) IS NOT TRUE
  )
  SELECT l.contract, l.seq, (SELECT count(*)::float8 FROM batch) AS rows,
    coalesce((SELECT json_agg(w) FROM wrong w), '[]') AS differences
  FROM (SELECT contract, seq FROM batch ORDER BY contract DESC, seq DESC LIMIT 1) l`;

/** The other way round: ledger rows without an event. Parameter: pool ids. Row: kind, id, found, pool. */
export const COMPARE_LEDGER_ROWS = `
  SELECT 'transactions.event' AS kind, t.id::text AS id, concat_ws(' ', t.block_number, t.log_index) AS wanted,
    e.outcome AS found, t.pool_id AS pool
  FROM transactions t LEFT JOIN chain_events e ON e.block_number = t.block_number AND e.log_index = t.log_index
  WHERE t.pool_id = ANY($1::uuid[]) AND t.status = 'CONFIRMED'
    AND (e.outcome = 'APPLIED' AND e.transaction_id = t.id) IS NOT TRUE
  UNION ALL
  SELECT 'yield_accruals.event', concat_ws(' ', y.pool_id, y.block_number, y.log_index),
    concat_ws(' ', y.block_number, y.log_index), e.outcome, y.pool_id
  FROM yield_accruals y LEFT JOIN chain_events e ON e.block_number = y.block_number AND e.log_index = y.log_index
  WHERE y.pool_id = ANY($1::uuid[])
    AND (e.outcome = 'APPLIED' AND e.kind = 'YieldAccrued' AND e.pool_id = y.pool_id) IS NOT TRUE`;

/** Whether a chain was ever read. */
export const HAS_CURSOR = 'SELECT EXISTS (SELECT FROM chain_cursor) AS "hasCursor"';
