import { TRANSACTION_TYPES } from '../common/types';
import type { Statement } from '../database/database';
import { statement } from '../database/statement';

/**
 * The newest transactions of pool `p`, newest first. One branch a type, merged in order, as the index begins with
 * pool and type: this way one index serves the filtered and the unfiltered lists.
 */
const newestTransactions = (limit: number): string => `
  (SELECT coalesce(json_agg(json_build_object('id', t.id, 'type', t.type, 'amount', t.amount::text,
      'txHash', t.tx_hash, 'createdAt', iso(t.created_at))), '[]')
   FROM (${TRANSACTION_TYPES.map(
     (type) =>
       `(SELECT * FROM transactions WHERE pool_id = p.id AND type = '${type}' ORDER BY id DESC LIMIT ${limit})`,
   ).join(' UNION ALL ')} ORDER BY id DESC LIMIT ${limit}) t)`;

const POOL_FIELDS = `
  'id', p.id, 'type', p.type, 'contractAddress', p.contract_address, 'balance', p.balance::text,
  'pendingBalance', p.pending_balance::text, 'totalYield', p.total_yield::text, 'apr', trim_scale(p.apr_bps / 100.0), 'autoCompound', p.auto_compound,
  'createdAt', iso(p.created_at), 'lastUpdate', iso(p.last_update)`;

/** Parameters: address, type or null, limit, offset. Row: total, data (JSON text). */
export const LIST_POOLS: Statement = {
  name: 'list_pools',
  text: `
    SELECT
      (SELECT count(*)::int FROM pool_members WHERE address = $1 AND ($2::text IS NULL OR type = $2)) AS total,
      coalesce(json_agg(json_build_object(${POOL_FIELDS},
        'members', p.member_count, 'recentTransactions', ${newestTransactions(10)})), '[]')::text AS data
    FROM (
      SELECT pool_id FROM pool_members WHERE address = $1 AND ($2::text IS NULL OR type = $2)
      ORDER BY pool_id DESC LIMIT $3 OFFSET $4
    ) page
    JOIN LATERAL (SELECT * FROM pools WHERE id = page.pool_id OFFSET 0) p ON true`,
};

/** Whether the caller, parameter 2, may read pool `p`. */
const READABLE = `EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = $2)`;

/** Parameters: pool id, address. No row: no such pool; data null: the caller may not read it. */
export const POOL_DETAIL: Statement = {
  name: 'pool_detail',
  text: `
    SELECT CASE WHEN ${READABLE} THEN json_build_object(${POOL_FIELDS},
      'owner', json_build_object('id', u.id, 'address', u.address),
      'transactions', ${newestTransactions(100)})::text END AS data
    FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.id = $1`,
};

/**
 * Parameters and rows as for the detail. apy = (1 + apr/365)^365 - 1 in percent; an apr beyond 100,000 % counts
 * as that, so that the power stays within double precision.
 */
export const POOL_YIELD: Statement = {
  name: 'pool_yield',
  text: `
    SELECT CASE WHEN ${READABLE} THEN json_build_object(
      'totalYield', p.total_yield::text,
      'claimableYield', greatest(p.total_yield - p.claimed_yield, 0)::text,
      'apr', trim_scale(p.apr_bps / 100.0),
      'apy', trim_scale(round(((power(1 + least(p.apr_bps, 10000000) / 3650000.0::float8, 365) - 1) * 100)::numeric, 2)),
      'lastClaimed', iso(p.last_claimed_at))::text END AS data
    FROM pools p WHERE p.id = $1`,
};

/**
 * Pool, its members, its DEPOSIT and all that is derived from them: the database's function create_pool writes them.
 * Parameters: pool id, type, owner id, contract, autoCompound, members, time, owner address, transaction id, amount.
 */
export const CREATE_POOL: Statement = {
  name: 'create_pool',
  text: 'INSERT INTO new_pools VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING pool_id AS id',
};

/**
 * The same under an idempotency key; 11 key, 12 hash of the request, 13 answer. Creates nothing when the key is in
 * use: another request holds its lock (`locked` false), or it has a record less than a day old.
 */
export const CREATE_POOL_ONCE: Statement = {
  name: 'create_pool_once',
  text: `
    WITH attempt AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(hashtextextended($3::uuid || ' ' || $11::text, 0)) AS locked
    ), record AS (
      INSERT INTO idempotency_keys AS i (user_id, key, request_hash, response, created_at)
      SELECT $3::uuid, $11::text, $12::text, $13::text, now() FROM attempt WHERE locked
      ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
        SET request_hash = excluded.request_hash, response = excluded.response, created_at = excluded.created_at
        WHERE i.created_at < now() - interval '24 hours'
      RETURNING 1
    ), pool AS (
      INSERT INTO new_pools SELECT $1::uuid, $2::text, $3::uuid, $4::text, $5::boolean, $6::text[], $7::timestamptz,
        $8::text, $9::uuid, $10::numeric FROM record
      RETURNING pool_id AS id
    )
    SELECT locked, (SELECT id FROM pool) AS id FROM attempt`,
};

/**
 * Derived rows follow by the triggers of pool_members. No row: no such pool; the role is
 * what it was before, null for an outsider; `left` is false for a member if another request of his was first.
 */
export const LEAVE_POOL = statement<
  { pool: string; member: string },
  { role: 'OWNER' | 'MEMBER' | null; left: boolean }
>(
  'leave_pool',
  { pool: 'uuid', member: 'text' },
  `
    WITH gone AS (
      DELETE FROM pool_members WHERE pool_id = :pool AND address = :member AND role = 'MEMBER' RETURNING 1
    )
    SELECT (SELECT role FROM pool_members WHERE pool_id = p.id AND address = :member) AS role,
      EXISTS (SELECT FROM gone) AS left
    FROM pools p WHERE p.id = :pool`,
);

export const FIND_ANSWER: Statement = {
  name: 'find_answer',
  text: `SELECT request_hash AS "requestHash", response FROM idempotency_keys WHERE user_id = $1 AND key = $2`,
};
