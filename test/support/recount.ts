import { byPoolType } from '#values/types';
import type { TestApp } from './app';

const COUNTED = `CASE status WHEN 'EXPIRED' THEN 0 ELSE amount END`;
const PENDING = `CASE WHEN status = 'PENDING' AND t.type = 'DEPOSIT' THEN amount ELSE 0 END`;
const newest = (type: string): string =>
  `(SELECT id FROM transactions x WHERE x.pool_id = p.id AND x.type = '${type}' ORDER BY id DESC LIMIT 1)`;

/** What the derived columns of a pool must be. */
const POOLS = `
  SELECT p.id, coalesce(sum(${COUNTED}) FILTER (WHERE t.type = 'DEPOSIT'), 0)
      - coalesce(sum(${COUNTED}) FILTER (WHERE t.type = 'WITHDRAWAL'), 0) AS balance,
    coalesce(sum(${PENDING}), 0) AS pending_balance,
    coalesce(sum(${COUNTED}) FILTER (WHERE t.type = 'YIELD_CLAIM'), 0) AS claimed_yield,
    count(*) FILTER (WHERE t.type = 'DEPOSIT')::int AS deposit_count,
    count(*) FILTER (WHERE t.type = 'WITHDRAWAL')::int AS withdrawal_count,
    count(*) FILTER (WHERE t.type = 'YIELD_CLAIM')::int AS claim_count,
    ${newest('DEPOSIT')} AS last_deposit_id, ${newest('WITHDRAWAL')} AS last_withdrawal_id,
    ${newest('YIELD_CLAIM')} AS last_claim_id,
    max(t.created_at) FILTER (WHERE t.type = 'YIELD_CLAIM') AS last_claimed_at,
    (SELECT coalesce(sum(y.amount), 0) FROM yield_accruals y WHERE y.pool_id = p.id) AS total_yield,
    coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = p.id
      ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0) AS apr_bps,
    (SELECT count(*) FROM pool_members m WHERE m.pool_id = p.id AND m.role = 'MEMBER')::smallint AS member_count
  FROM pools p LEFT JOIN transactions t ON t.pool_id = p.id GROUP BY p.id`;
const POOL_COLUMNS = `id, balance, pending_balance, claimed_yield, deposit_count, withdrawal_count, claim_count,
  last_deposit_id, last_withdrawal_id, last_claim_id, last_claimed_at, total_yield, apr_bps, member_count`;

/** Whose pool it is, as each transaction says too. */
const OWNERS = `
  SELECT t.id, p.owner_id, u.address = t.account AS by_owner
  FROM transactions t JOIN pools p ON p.id = t.pool_id JOIN users u ON u.id = p.owner_id`;

const counts = (type: string): string => `sum(CASE type WHEN '${type}' THEN listed ELSE 0 END)::int`;
const sums = (type: string): string => `sum(CASE type WHEN '${type}' THEN own ELSE 0 END)`;
/** Listed in one's own right: what one's pools hold, and one's payments into pools that one has no part in. */
const DAYS = `
  SELECT address, day, contract, ${sums('DEPOSIT')} AS deposited, sum(pending) AS pending, ${sums('YIELD_CLAIM')} AS claimed,
    ${counts('DEPOSIT')} AS deposits, ${counts('WITHDRAWAL')} AS withdrawals, ${counts('YIELD_CLAIM')} AS claims
  FROM (
    SELECT t.account AS address, (t.created_at AT TIME ZONE 'UTC')::date AS day, p.contract_address::text AS contract, t.type, ${COUNTED} AS own, ${PENDING} AS pending,
      (NOT EXISTS (SELECT FROM pool_members m WHERE m.pool_id = t.pool_id AND m.address = t.account))::int AS listed
    FROM transactions t JOIN pools p ON p.id = t.pool_id
    UNION ALL
    SELECT u.address, (t.created_at AT TIME ZONE 'UTC')::date, p.contract_address, t.type, 0, 0, 1
    FROM transactions t JOIN pools p ON p.id = t.pool_id JOIN users u ON u.id = p.owner_id
  ) parts GROUP BY address, day, contract`;
const DAY_COLUMNS = 'address, day, contract, deposited, pending, claimed, deposits, withdrawals, claims';
const KEPT_DAYS = `
  SELECT address, day, contract, sum(deposited) AS deposited, sum(pending) AS pending, sum(claimed) AS claimed,
    sum(deposits)::int AS deposits, sum(withdrawals)::int AS withdrawals, sum(claims)::int AS claims
  FROM account_days GROUP BY address, day, contract`;

const TOTALS = `
  SELECT type, p.contract_address::text AS contract, count(*) AS pools, coalesce(sum((SELECT sum(${COUNTED}) FROM transactions t
      WHERE t.pool_id = p.id AND t.type = 'DEPOSIT')), 0) AS deposited,
    coalesce(sum((SELECT sum(${PENDING}) FROM transactions t WHERE t.pool_id = p.id)), 0) AS pending,
    coalesce(sum((SELECT sum(amount) FROM yield_accruals y WHERE y.pool_id = p.id)), 0) AS yield,
    sum(coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = p.id
      ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0)) AS apr_bps
  FROM pools p GROUP BY 1, 2`;

/** What addresses own, by the recounted pools. */
const OWNED = `
  SELECT p.owner_id, p.type::text, p.contract_address::text AS contract, count(*)::int AS pools, (count(*) FILTER (WHERE r.balance > 0))::int AS active,
    sum(r.total_yield) AS yield, sum(r.apr_bps)::bigint AS apr_bps
  FROM pools p JOIN (${POOLS}) r ON r.id = p.id GROUP BY 1, 2, 3`;
const KEPT_OWNED = `
  SELECT owner_id, type, contract, sum(pools)::int AS pools, sum(active)::int AS active, sum(yield) AS yield,
    sum(apr_bps)::bigint AS apr_bps
  FROM owner_totals GROUP BY 1, 2, 3 HAVING sum(pools) <> 0 OR sum(active) <> 0 OR sum(yield) <> 0 OR sum(apr_bps) <> 0`;

/** A day or a type whose amounts and counts are all zero says the same as none. */
const NOTHING_DAY =
  'deposited = 0 AND pending = 0 AND claimed = 0 AND deposits = 0 AND withdrawals = 0 AND claims = 0';
const KEPT_TOTALS = `
  SELECT type, contract, sum(pools) AS pools, sum(deposited) AS deposited, sum(pending) AS pending, sum(yield) AS yield,
    sum(apr_bps) AS apr_bps
  FROM pool_totals GROUP BY type, contract
  HAVING sum(pools) <> 0 OR sum(deposited) <> 0 OR sum(pending) <> 0 OR sum(yield) <> 0 OR sum(apr_bps) <> 0`;

/** Of the memberships that are indexed; which those are, no other table says. */
const MEMBER_STREAMS = `
  SELECT m.pool_id, m.address::text, t.type::text, t.status::text, (array_agg(t.id ORDER BY t.id))[1] AS first_id,
    (array_agg(t.id ORDER BY t.id))[count(*)] AS last_id
  FROM pool_members m JOIN transactions t USING (pool_id) WHERE m.indexed GROUP BY 1, 2, 3, 4`;
const MEMBER_COUNTS = `
  SELECT m.address::text, m.type::text, count(*) FROM pool_members m WHERE m.indexed GROUP BY 1, 2
  UNION ALL
  SELECT m.address, t.type, count(*) FROM pool_members m JOIN transactions t USING (pool_id) WHERE m.indexed GROUP BY 1, 2`;
const KEPT_COUNTS = `
  SELECT address, type, sum(count)::bigint AS count FROM member_counts GROUP BY 1, 2 HAVING sum(count) <> 0`;

const PAIRS: [name: string, kept: string, recount: string][] = [
  ['pools', `SELECT ${POOL_COLUMNS} FROM pools`, `SELECT ${POOL_COLUMNS} FROM (${POOLS}) r`],
  ['transactions', 'SELECT id, owner_id, by_owner FROM transactions', OWNERS],
  [
    'account_days',
    `SELECT ${DAY_COLUMNS} FROM (${KEPT_DAYS}) k WHERE NOT (${NOTHING_DAY})`,
    `SELECT ${DAY_COLUMNS} FROM (${DAYS}) r WHERE NOT (${NOTHING_DAY})`,
  ],
  ['pool_totals', KEPT_TOTALS, TOTALS],
  [
    'member_streams',
    'SELECT pool_id, address, type, status, first_id, last_id FROM member_streams',
    `SELECT * FROM (${MEMBER_STREAMS}) r`,
  ],
  ['member_counts', KEPT_COUNTS, `SELECT * FROM (${MEMBER_COUNTS}) r`],
  ['owner_totals', KEPT_OWNED, OWNED],
];

/** Rows of the derived tables that are not what a recount from the ledger gives, and those that are missing. */
export async function differences(app: TestApp): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const [table, kept, recount] of PAIRS)
    found.push(
      ...(await app.sql(`
        SELECT '${table}' AS table, 'kept' AS side, to_json(x) AS row FROM (${kept} EXCEPT ALL ${recount}) x
        UNION ALL
        SELECT '${table}', 'recount', to_json(x) FROM (${recount} EXCEPT ALL ${kept}) x`)),
    );
  return found;
}

/** What GET /analytics/pools must say, from the rows themselves. */
export async function recountedAnalytics(app: TestApp): Promise<Record<string, unknown>> {
  const rows = await app.sql<{
    type: string;
    pools: string;
    deposited: string;
    pending: string;
    yield: string;
    apr_bps: string;
  }>(TOTALS);
  const sum = (field: 'pools' | 'deposited' | 'pending' | 'yield' | 'apr_bps'): bigint =>
    rows.reduce((total, row) => total + BigInt(row[field]), 0n);
  const byType: Record<string, number> = byPoolType(() => 0);
  for (const { type, pools } of rows) byType[type] += Number(pools);
  const pools = sum('pools');
  // In hundredths of a percent, rounded half away from zero.
  const mean = pools === 0n ? 0n : (2n * sum('apr_bps') + pools) / (2n * pools);
  return {
    totalPools: Number(pools),
    totalDeposits: sum('deposited').toString(),
    pendingDeposits: sum('pending').toString(),
    totalYield: sum('yield').toString(),
    averageAPR: Number(mean) / 100,
    byType,
    otherTokens: [],
  };
}
