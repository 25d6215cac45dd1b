import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';

/** SQL: `submitted` of transaction `t`, as JSON. Only pending ones are looked up. */
export const SUBMITTED = `
  CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
    FROM submissions s WHERE s.transaction_id = t.id) END`;

/** SQL: whether a payment was told for one of the deposits of an address into a pool, which the ledger lacks. */
export const isPaying = (pool: string, address: string): string => `
  EXISTS (SELECT FROM transactions t JOIN submissions s ON s.transaction_id = t.id
    WHERE t.pool_id = ${pool} AND t.status IN ('PENDING', 'EXPIRED') AND t.account = ${address})`;

/** The deposit, which nobody confirms, cancels or tells another hash for meanwhile. */
const LOCKED = `
  deposit AS MATERIALIZED (
    SELECT id, account, status, type FROM transactions WHERE id = :id AND account = :caller FOR NO KEY UPDATE
  )`;
/** Data is null if another account is to pay it. */
const FOUND = `SELECT CASE WHEN account = :caller THEN '' END AS data FROM transactions WHERE id = :id`;

/**
 * Stores the hash of a payment, instead of one that was told before. Of a deposit that has expired too: a late payment
 * still confirms it. One that is on the chain needs none.
 */
export const SUBMIT_DEPOSIT = statement<{ id: string; caller: string; hash: string }, ReadableRow>(
  'submit_deposit',
  { id: 'uuid', caller: 'text', hash: 'text' },
  `
    WITH ${LOCKED}, told AS (
      INSERT INTO submissions AS s (transaction_id, account, hash, at, check_at)
      SELECT id, account, :hash, now(), now() FROM deposit
      WHERE type = 'DEPOSIT' AND status <> 'CONFIRMED'
      ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET hash = excluded.hash, at = excluded.at,
        check_at = excluded.check_at, checks = 0, known = false, sender = NULL, nonce = NULL
      WHERE s.hash <> excluded.hash OR s.checks < 0
    )
    ${FOUND}`,
);

/**
 * Forgets the hash, if it is still this one; null: whichever it is. One that a node has shown can still be mined, so
 * only the chain ends it. The indexer looks now at one that it has not looked for yet, and forgets it (-1 checks) if no
 * node knows it.
 */
export const TAKE_SUBMISSION_BACK = statement<
  { id: string; caller: string; hash: string | null },
  ReadableRow
>(
  'take_submission_back',
  { id: 'uuid', caller: 'text', hash: 'text' },
  `
    WITH ${LOCKED}, told AS MATERIALIZED (
      SELECT s.transaction_id AS id, s.known OR s.sender IS NOT NULL OR s.checks <= 0 AS may_come
      FROM submissions s JOIN deposit ON s.transaction_id = deposit.id
      WHERE :hash IS NULL OR s.hash = :hash FOR UPDATE OF s
    ), asked AS (
      UPDATE submissions s SET check_at = now(), checks = CASE s.checks WHEN 0 THEN -1 ELSE s.checks END
      FROM told WHERE s.transaction_id = told.id AND told.may_come
    ), gone AS (
      DELETE FROM submissions s USING told WHERE s.transaction_id = told.id AND NOT told.may_come
    )
    ${FOUND}`,
);

/** What became of the pool. No row of it: there is none. See `cancel_pool` in the migration. */
export const CANCEL_POOL = statement<
  { pool: string; caller: string },
  { outcome: 'cancelled' | 'forbidden' | 'submitted' | 'not_empty' | 'unknown' | null }
>('cancel_pool', { pool: 'uuid', caller: 'text' }, 'SELECT cancel_pool(:pool, :caller) AS outcome', {
  chargedTo: 'caller',
});
