/** An amount as it counts in sums. Expired deposits count as 0. */
export const counted = (t: string): string => `CASE ${t}.status WHEN 'EXPIRED' THEN 0 ELSE ${t}.amount END`;
/** The part of an amount that is not on the chain yet. */
export const pending = (t: string): string =>
  `CASE WHEN ${t}.status = 'PENDING' AND ${t}.type = 'DEPOSIT' THEN ${t}.amount ELSE 0 END`;

/**
 * Compares the columns of a stored row with a recounted one. Gives `column_name`, `kept` and `recount` (as text) of
 * each column that differs. For a lateral join.
 */
export const compareColumns = (
  columns: readonly string[],
  kept: (column: string) => string,
  recount: (column: string) => string,
): string => `
  (SELECT * FROM (VALUES ${columns
    .map((column) => `('${column}', ${kept(column)}::text, ${recount(column)}::text)`)
    .join(', ')}) AS each(column_name, kept, recount) WHERE each.kept IS DISTINCT FROM each.recount)`;

/** Derived columns of pools. */
export const POOL_COLUMNS = [
  'balance',
  'pending_balance',
  'claimed_yield',
  'deposit_count',
  'withdrawal_count',
  'claim_count',
  'last_deposit_id',
  'last_withdrawal_id',
  'last_claim_id',
  'last_claimed_at',
  'total_yield',
  'apr_bps',
  'member_count',
] as const;

const newest = (type: string): string => `
  (SELECT x.id FROM transactions x WHERE x.pool_id = p.id AND x.type = '${type}' ORDER BY x.id DESC LIMIT 1)`;
const sum = (type: string): string => `coalesce(sum(${counted('x')}) FILTER (WHERE x.type = '${type}'), 0)`;
const count = (type: string): string => `count(*) FILTER (WHERE x.type = '${type}')`;

/** A pool's contribution to pool_totals, computed from the ledger. */
export const sums = (condition: string): string => `
  (SELECT count(*) AS rows, ${sum('DEPOSIT')} AS deposited, ${sum('WITHDRAWAL')} AS withdrawn,
    ${sum('YIELD_CLAIM')} AS claimed_yield, coalesce(sum(${pending('x')}), 0) AS pending_balance,
    ${count('DEPOSIT')} AS deposit_count, ${count('WITHDRAWAL')} AS withdrawal_count,
    ${count('YIELD_CLAIM')} AS claim_count,
    max(x.created_at) FILTER (WHERE x.type = 'YIELD_CLAIM') AS last_claimed_at
  FROM transactions x WHERE x.pool_id = p.id AND ${condition})`;
export const accrued = (condition: string): string => `
  (SELECT count(*) AS rows, coalesce(sum(y.amount), 0) AS total
  FROM yield_accruals y WHERE y.pool_id = p.id AND ${condition})`;
export const APR = `coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = p.id
  ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0)`;

/** One row for each pool. Parameter 1: pool ids. */
export const RECOUNT = `
  SELECT p.id, s.deposited, s.deposited - s.withdrawn AS balance, s.pending_balance, s.claimed_yield, s.deposit_count,
    s.withdrawal_count, s.claim_count, s.last_claimed_at, y.total AS total_yield, ${APR} AS apr_bps,
    ${newest('DEPOSIT')} AS last_deposit_id, ${newest('WITHDRAWAL')} AS last_withdrawal_id,
    ${newest('YIELD_CLAIM')} AS last_claim_id, s.rows + y.rows AS rows,
    (SELECT count(*) FROM pool_members m WHERE m.pool_id = p.id AND m.role = 'MEMBER') AS member_count
  FROM pools p CROSS JOIN LATERAL ${sums('true')} s CROSS JOIN LATERAL ${accrued('true')} y WHERE p.id = ANY($1::uuid[])`;

/**
 * Holds the contributions of recounted pools until pool_totals is compared, and what was told of the chain's events and
 * what should have been, until these two are.
 */
export const CREATE_MEMORY = `
  CREATE TEMPORARY TABLE IF NOT EXISTS verified_pools (
    id uuid PRIMARY KEY, deposited numeric, pending numeric, yield numeric, apr_bps bigint
  );
  CREATE TEMPORARY TABLE IF NOT EXISTS verified_told (block bigint, what jsonb, told integer, applied integer)`;

const REMEMBER = `
  INSERT INTO verified_pools SELECT id, deposited, pending_balance, total_yield, apr_bps FROM recount
  ON CONFLICT (id) DO UPDATE SET (deposited, pending, yield, apr_bps) =
    (excluded.deposited, excluded.pending, excluded.yield, excluded.apr_bps)`;

/** Row: number of ledger rows counted, differences. Parameter: pool ids. */
export const comparePools = (remember: boolean): string => `
  WITH recount AS MATERIALIZED (${RECOUNT})${remember ? `, remembered AS (${REMEMBER})` : ''}
  SELECT (SELECT coalesce(sum(rows), 0)::float8 FROM recount) AS rows, coalesce((
    SELECT json_agg(json_build_object('id', p.id, 'column', d.column_name, 'kept', d.kept, 'recount', d.recount)
      ORDER BY p.id)
    FROM recount r JOIN pools p USING (id)
    CROSS JOIN LATERAL ${compareColumns(
      POOL_COLUMNS,
      (column) => `p.${column}`,
      (column) => `r.${column}`,
    )} d), '[]') AS differences`;
export const REMEMBER_POOLS = `WITH recount AS MATERIALIZED (${RECOUNT}) ${REMEMBER}`;

/** SQL: distinct values after parameter 1 in index order. Each takes one index lookup, however many rows have it. */
export const distinct = (name: string, column: string, table: string, condition = 'true'): string => `
  ${name} AS (
    (SELECT ${column} AS key FROM ${table} WHERE ${condition} AND ${column} > $1 ORDER BY ${column} LIMIT 1)
    UNION ALL
    SELECT (SELECT ${column} FROM ${table} WHERE ${condition} AND ${column} > n.key ORDER BY ${column} LIMIT 1)
    FROM ${name} n WHERE n.key IS NOT NULL
  )`;
/** Sorts before all ids. */
export const FIRST_POOL = '00000000-0000-0000-0000-000000000000';
export const NEXT_POOLS = 'SELECT id FROM pools WHERE id > $1::uuid ORDER BY id LIMIT $2';
/** Every change to a pool's ledger locks its row, so later changes add to the repaired values. */
export const LOCK_POOLS = 'SELECT FROM pools WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE';
export const REPAIR_POOLS = `
  WITH recount AS MATERIALIZED (${RECOUNT})
  UPDATE pools p SET ${POOL_COLUMNS.map((column) => `${column} = r.${column}`).join(', ')},
    last_update = changed_at(p.last_update)
  FROM recount r WHERE p.id = r.id`;

/** The owner columns of transactions. Row: id, column, kept, recount. Parameter: pool ids. */
export const COMPARE_OWNERS = `
  SELECT t.id, d.column_name AS "column", d.kept, d.recount
  FROM pools p JOIN users u ON u.id = p.owner_id JOIN transactions t ON t.pool_id = p.id
  CROSS JOIN LATERAL ${compareColumns(
    ['owner_id', 'by_owner'],
    (column) => `t.${column}`,
    (column) => (column === 'owner_id' ? 'p.owner_id' : '(t.account = u.address)'),
  )} d
  WHERE p.id = ANY($1::uuid[]) AND (t.owner_id <> p.owner_id OR t.by_owner <> (t.account = u.address))`;
/** Parameter: transaction ids. */
export const REPAIR_OWNERS = `
  UPDATE transactions t SET owner_id = p.owner_id, by_owner = t.account = u.address
  FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.id = t.pool_id AND t.id = ANY($1::uuid[])`;

/**
 * Rows changed since a snapshot: their xmin is not older than parameter 1, the oldest transaction that ran then. The
 * modulo is there because transaction ids wrap around.
 */
const CHANGED = `mod(p.xmin::text::bigint - $1::bigint + 4294967296, 4294967296) < 2147483648`;
export const SNAPSHOT_FLOOR = `SELECT mod(pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 4294967296) AS floor`;
/** Parameters: floor, pool id to go on after, limit. */
export const CHANGED_POOLS = `SELECT p.id FROM pools p WHERE ${CHANGED} AND p.id > $2::uuid ORDER BY p.id LIMIT $3`;

export const TOTAL_COLUMNS = ['pools', 'deposited', 'pending', 'yield', 'apr_bps'] as const;
/**
 * The sums of pool_totals: the remembered contributions and, for pools that changed since, those computed now, all in one
 * snapshot. The condition is inside the counting subqueries, so that no ledger is read for unchanged pools.
 */
export const TOTALS = `
  SELECT p.type::text, p.contract_address::text AS contract, count(*) AS pools, sum(coalesce(v.deposited, s.deposited)) AS deposited,
    sum(coalesce(v.pending, s.pending_balance)) AS pending, sum(coalesce(v.yield, y.total)) AS yield,
    sum(coalesce(v.apr_bps, ${APR})) AS apr_bps
  FROM pools p LEFT JOIN verified_pools v ON v.id = p.id AND NOT ${CHANGED}
  CROSS JOIN LATERAL ${sums('v.id IS NULL')} s CROSS JOIN LATERAL ${accrued('v.id IS NULL')} y
  GROUP BY 1, 2`;

/**
 * What was told of deposits that need no payment any more, pools that are cancelled and not, and money that came into
 * cancelled ones and did not bring them back. Row: kind, id, kept, recount. Parameter: most rows.
 */
export const COMPARE_UNPAID = `
  SELECT 'submissions' AS kind, s.transaction_id AS id, s.hash AS kept, NULL AS recount
  FROM submissions s LEFT JOIN transactions t ON t.id = s.transaction_id
  WHERE t.id IS NULL OR t.status = 'CONFIRMED' OR t.type <> 'DEPOSIT' OR t.account <> s.account
  UNION ALL
  SELECT 'cancelled_pools', c.id, 'cancelled', 'not cancelled' FROM cancelled_pools c JOIN pools p ON p.id = c.id
  UNION ALL
  SELECT 'cancelled_pools', c.id, 'cancelled', 'paid' FROM cancelled_pools c WHERE EXISTS (
    SELECT FROM chain_events e WHERE e.pool_id = c.id AND e.outcome = 'UNKNOWN_POOL' AND e.contract = c.contract_address
      AND e.amount > 0 AND e.kind IN ('Deposited', 'Withdrawn', 'YieldClaimed', 'YieldAccrued', 'Joined', 'Contributed',
        'PaidOut', 'CircleRefunded'))
  ORDER BY 1, 2 LIMIT $1`;
/** Parameter: transaction ids. */
export const FORGET_SUBMISSIONS = 'DELETE FROM submissions WHERE transaction_id = ANY($1::uuid[])';
