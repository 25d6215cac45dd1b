import { typeOf } from '#indexer/reading/money';
import { OWNERS, POOLS, countEmpty } from '#verify/checks/derived.sql';

/** The statements that hold the ledger's rows against the events, and that correct them. $1 are ids of pools. */

const TYPE = typeOf('e.kind');
/** SQL: whether transaction `t` is what event `e` makes of it. What was announced keeps its account and its time. */
const SAME_ROW = `(t.pool_id = e.pool_id AND t.type = ${TYPE} AND t.status = 'CONFIRMED' AND t.amount = e.amount
  AND t.account = e.account AND t.tx_hash = e.tx_hash AND t.block_number = e.block_number AND t.log_index = e.log_index
  AND t.confirmed_at = e.block_time AND (t.requested_amount IS NOT NULL OR t.created_at = e.block_time)) IS TRUE`;
const SAME_ACCRUAL = `(y.amount = e.amount AND y.apr_bps = e.apr_bps AND y.accrued_at = e.block_time) IS TRUE`;

const MOVES = `e.outcome = 'APPLIED' AND e.transaction_id IS NOT NULL`;
const ACCRUES = `e.outcome = 'APPLIED' AND e.kind = 'YieldAccrued' AND e.pool_id IS NOT NULL`;
/** SQL: rows that there are only because of an event. */
const BY_EVENT = `(t.status = 'CONFIRMED' OR t.requested_amount IS NULL)`;
const ACCRUAL_OF = 'y.pool_id = e.pool_id AND y.block_number = e.block_number AND y.log_index = e.log_index';
const WRONG_AMOUNT = `t.status <> 'CONFIRMED' AND t.requested_amount IS NOT NULL AND t.amount <> t.requested_amount`;

/** Sorted: pools whose rows are not those of their events, as the events say now. */
export const WRONG_ROWS = `
  SELECT wrong.pool_id::text FROM (
    SELECT unnest(ARRAY[e.pool_id, t.pool_id]) AS pool_id
    FROM (SELECT * FROM chain_events e WHERE ${MOVES}) e
    FULL JOIN (SELECT * FROM transactions t WHERE ${BY_EVENT}) t ON t.id = e.transaction_id
    WHERE NOT ${SAME_ROW}
    UNION ALL
    SELECT t.pool_id FROM transactions t WHERE ${WRONG_AMOUNT}
    UNION ALL
    SELECT coalesce(e.pool_id, y.pool_id)
    FROM (SELECT * FROM chain_events e WHERE ${ACCRUES}) e
    FULL JOIN yield_accruals y ON ${ACCRUAL_OF}
    WHERE NOT ${SAME_ACCRUAL}
  ) wrong WHERE wrong.pool_id IS NOT NULL GROUP BY wrong.pool_id ORDER BY wrong.pool_id`;

const REPLAYED_MOVES = `(SELECT * FROM chain_events e WHERE e.pool_id = ANY($1::uuid[]) AND ${MOVES}) e`;
const REPLAYED_ACCRUALS = `(SELECT * FROM chain_events e WHERE e.pool_id = ANY($1::uuid[]) AND ${ACCRUES}) e`;

/**
 * Makes the rows of the pools from their events, in this order. A deleted row is subtracted from the sums of the owner that
 * it names, so wrong owners are corrected first. No sum of a pool may fall below zero on the way, so its sums are raised
 * first, and counted at the end. Until then the pool is active. Corrected payments get their fees from their receipts again.
 */
export const CORRECT_ROWS = [
  OWNERS.repair!,
  countEmpty('+'),
  `UPDATE pools SET balance = balance + 1e100, claimed_yield = claimed_yield + 1e100, total_yield = total_yield + 1e100
   WHERE id = ANY($1::uuid[])`,
  `WITH gone AS MATERIALIZED (
     SELECT t.id, t.requested_amount IS NOT NULL AS announced
     FROM transactions t LEFT JOIN ${REPLAYED_MOVES} ON e.transaction_id = t.id
     WHERE t.pool_id = ANY($1::uuid[]) AND ${BY_EVENT} AND NOT ${SAME_ROW}
   ), deleted AS (
     DELETE FROM transactions t USING gone g WHERE t.id = g.id AND NOT g.announced
   )
   UPDATE transactions t SET status = 'PENDING', amount = requested_amount, tx_hash = NULL, block_number = NULL,
     log_index = NULL, confirmed_at = NULL, gas_used = NULL, gas_price = NULL, l1_fee = NULL
   FROM gone g WHERE t.id = g.id AND g.announced`,
  `UPDATE transactions t SET amount = requested_amount WHERE t.pool_id = ANY($1::uuid[]) AND ${WRONG_AMOUNT}`,
  `UPDATE transactions t SET status = 'CONFIRMED', amount = e.amount, tx_hash = e.tx_hash, block_number = e.block_number,
     log_index = e.log_index, confirmed_at = e.block_time
   FROM ${REPLAYED_MOVES}
   WHERE t.id = e.transaction_id AND t.pool_id = e.pool_id AND t.status <> 'CONFIRMED'
     AND t.requested_amount IS NOT NULL`,
  `INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, tx_hash, block_number,
     log_index, created_at, confirmed_at)
   SELECT e.transaction_id, e.pool_id, p.owner_id, u.address = e.account, ${TYPE}, 'CONFIRMED', e.account, e.amount,
     e.tx_hash, e.block_number, e.log_index, e.block_time, e.block_time
   FROM ${REPLAYED_MOVES} JOIN pools p ON p.id = e.pool_id JOIN users u ON u.id = p.owner_id
   WHERE NOT EXISTS (SELECT FROM transactions t WHERE t.id = e.transaction_id AND t.pool_id = e.pool_id)`,
  `DELETE FROM yield_accruals y WHERE y.pool_id = ANY($1::uuid[]) AND NOT EXISTS (
     SELECT FROM ${REPLAYED_ACCRUALS} WHERE ${ACCRUAL_OF} AND ${SAME_ACCRUAL})`,
  `INSERT INTO yield_accruals (pool_id, block_number, log_index, amount, apr_bps, accrued_at)
   SELECT e.pool_id, e.block_number, e.log_index, e.amount, e.apr_bps, e.block_time FROM ${REPLAYED_ACCRUALS}
   WHERE NOT EXISTS (SELECT FROM yield_accruals y WHERE ${ACCRUAL_OF})`,
  POOLS.repair!,
  countEmpty('-'),
];
