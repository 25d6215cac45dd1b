import { type ExpiryParameters, type ExpiryResult, removeExpired } from '#platform/database/expired-rows';
import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { EFFECTIVE_BLOCK, isApart } from '#ledger/chain/chain.sql';

/** SQL: `submitted` of the transaction `t`, as JSON. Only pending ones are looked up. */
export const submitted = (t: string): string => `
  CASE WHEN ${t}.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
    FROM submissions s WHERE s.transaction_id = ${t}.id) END`;

/** SQL: whether a payment was submitted for a deposit of an address into a pool, which the ledger lacks. */
export const isPaying = (pool: string, address: string): string => `
  EXISTS (SELECT FROM transactions t JOIN submissions s ON s.transaction_id = t.id
    WHERE t.pool_id = ${pool} AND t.status IN ('PENDING', 'EXPIRED') AND t.account = ${address})`;

/** The deposit, locked against confirmation, cancelling and other hashes. */
const LOCKED = `
  deposit AS MATERIALIZED (
    SELECT id, account, status, type FROM transactions WHERE id = :id AND account = :caller FOR NO KEY UPDATE
  )`;
/** Data is null if another account is to pay it. */
const FOUND = `SELECT CASE WHEN account = :caller THEN '' END AS data FROM transactions WHERE id = :id`;

/**
 * Stores the hash of a payment, instead of an earlier one. Of a deposit that has expired too: a late payment
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

/** The outcome. No row: the pool does not exist. See `cancel_pool` in `migrations/functions`. */
export const CANCEL_POOL = statement<
  { pool: string; caller: string },
  { outcome: 'cancelled' | 'forbidden' | 'submitted' | 'not_empty' | 'unknown' | null }
>('cancel_pool', { pool: 'uuid', caller: 'text' }, 'SELECT cancel_pool(:pool, :caller) AS outcome', {
  chargedTo: 'caller',
});

/** SQL: the time up to which the ledger knows payments, except at detached contracts; null before it knows any. */
const KNOWN_UP_TO = `(SELECT least(now(), b.time) FROM ${EFFECTIVE_BLOCK} b WHERE b.time IS NOT NULL)`;
const EXPIRY = { after: 'timestamptz', batch: 'integer' } as const;

/**
 * Cancels pools that nobody has paid for a week after the announcement, or a month after it if a hash was submitted, as
 * their owners could. It checks few expired deposits at a time. Only a new process checks those older than two months:
 * pools that were paid in another way keep theirs. Batches are small, because requests that create a pool meanwhile
 * wait for its totals. The pools are locked first, in the order in which the indexer locks them.
 */
export const CANCEL_UNPAID = statement<ExpiryParameters, ExpiryResult>(
  'cancel_unpaid',
  EXPIRY,
  `
    WITH turn AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(hashtextextended('expired pools', 0)) AS mine
    ), looked AS MATERIALIZED (
      SELECT id, pool_id, created_at FROM transactions
      WHERE (SELECT mine FROM turn) AND status = 'EXPIRED' AND created_at < ${KNOWN_UP_TO} - interval '7 days'
        AND created_at >= coalesce(:after, ${KNOWN_UP_TO} - interval '60 days')
      ORDER BY created_at LIMIT 25 * :batch
    ), due AS MATERIALIZED (
      SELECT p.id, p.owner_id, u.address, l.created_at
      FROM looked l JOIN pools p ON p.id = l.pool_id JOIN users u ON u.id = p.owner_id
      WHERE p.deposit_count = 1 AND p.withdrawal_count = 0 AND p.claim_count = 0 AND NOT ${isApart('p.contract_address')}
        AND (l.created_at <= now() - interval '30 days'
          OR NOT EXISTS (SELECT FROM submissions s WHERE s.transaction_id = l.id))
      ORDER BY l.created_at LIMIT :batch
    ), locked AS MATERIALIZED (
      SELECT p.id FROM pools p WHERE p.id = ANY (ARRAY(SELECT id FROM due)) ORDER BY p.id FOR UPDATE SKIP LOCKED
    ), done AS MATERIALIZED (
      SELECT cancel_pool(due.id, due.address) AS outcome FROM due JOIN locked USING (id) ORDER BY owner_id
    )
    SELECT (SELECT count(*)::int FROM done WHERE outcome = 'cancelled') AS removed, max(created_at)::text AS reached,
      count(*) IN (:batch, 25 * :batch) AND coalesce(max(created_at) > :after, true) AS more
    FROM (
      SELECT created_at FROM due WHERE (SELECT count(*) = :batch FROM due)
      UNION ALL SELECT created_at FROM looked WHERE (SELECT count(*) < :batch FROM due)
    ) reached`,
);
export const UNPAID = { batch: 20, after: '-infinity' };

/** A payment after that is an unassigned deposit, which its payer can withdraw. */
export const FORGET_CANCELLED = removeExpired(
  'cancelled_pools',
  'cancelled_at',
  `${KNOWN_UP_TO} - interval '30 days' AND NOT ${isApart('contract_address')}`,
);
