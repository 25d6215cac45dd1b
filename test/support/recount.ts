import type { TestApp } from './app';

const COUNTED = `CASE status WHEN 'EXPIRED' THEN 0 ELSE amount END`;

/** What the derived columns of a pool must be. */
const POOLS = `
  SELECT p.id, coalesce(sum(${COUNTED}) FILTER (WHERE t.type = 'DEPOSIT'), 0)
      - coalesce(sum(${COUNTED}) FILTER (WHERE t.type = 'WITHDRAWAL'), 0) AS balance,
    coalesce(sum(${COUNTED}) FILTER (WHERE t.type = 'YIELD_CLAIM'), 0) AS claimed_yield,
    count(*) FILTER (WHERE t.type = 'DEPOSIT')::int AS deposit_count,
    count(*) FILTER (WHERE t.type = 'WITHDRAWAL')::int AS withdrawal_count,
    count(*) FILTER (WHERE t.type = 'YIELD_CLAIM')::int AS claim_count,
    max(t.created_at) FILTER (WHERE t.type = 'YIELD_CLAIM') AS last_claimed_at,
    (SELECT coalesce(sum(y.amount), 0) FROM yield_accruals y WHERE y.pool_id = p.id) AS total_yield,
    coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = p.id
      ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0) AS apr_bps,
    (SELECT count(*) FROM pool_members m WHERE m.pool_id = p.id AND m.role = 'MEMBER')::smallint AS member_count
  FROM pools p LEFT JOIN transactions t ON t.pool_id = p.id GROUP BY p.id`;
const POOL_COLUMNS =
  'id, balance, claimed_yield, deposit_count, withdrawal_count, claim_count, last_claimed_at, total_yield, apr_bps, member_count';

const READERS = `
  SELECT m.address, t.type, t.id AS transaction_id FROM transactions t JOIN pool_members m USING (pool_id)`;

const DAY = `(created_at AT TIME ZONE 'UTC')::date`;
const counts = (type: string): string => `sum(CASE type WHEN '${type}' THEN readable ELSE 0 END)::int`;
const sums = (type: string): string => `sum(CASE type WHEN '${type}' THEN own ELSE 0 END)`;
const DAYS = `
  SELECT address, day, ${sums('DEPOSIT')} AS deposited, ${sums('YIELD_CLAIM')} AS claimed,
    ${counts('DEPOSIT')} AS readable_deposits, ${counts('WITHDRAWAL')} AS readable_withdrawals,
    ${counts('YIELD_CLAIM')} AS readable_claims
  FROM (
    SELECT account AS address, ${DAY} AS day, type, ${COUNTED} AS own, 0 AS readable FROM transactions
    UNION ALL
    SELECT m.address, ${DAY}, t.type, 0, 1 FROM transactions t JOIN pool_members m USING (pool_id)
  ) parts GROUP BY address, day`;
const DAY_COLUMNS =
  'address, day, deposited, claimed, readable_deposits, readable_withdrawals, readable_claims';

const TOTALS = `
  SELECT type, count(*) AS pools, coalesce(sum((SELECT sum(${COUNTED}) FROM transactions t
      WHERE t.pool_id = p.id AND t.type = 'DEPOSIT')), 0) AS deposited,
    coalesce(sum((SELECT sum(amount) FROM yield_accruals y WHERE y.pool_id = p.id)), 0) AS yield,
    sum(coalesce((SELECT y.apr_bps FROM yield_accruals y WHERE y.pool_id = p.id
      ORDER BY y.block_number DESC, y.log_index DESC LIMIT 1), 0)) AS apr_bps
  FROM pools p GROUP BY type`;

/** A day or a type whose amounts and counts are all zero says the same as none. */
const NOTHING_DAY =
  'deposited = 0 AND claimed = 0 AND readable_deposits = 0 AND readable_withdrawals = 0 AND readable_claims = 0';

const PAIRS: [name: string, kept: string, recount: string][] = [
  ['pools', `SELECT ${POOL_COLUMNS} FROM pools`, `SELECT ${POOL_COLUMNS} FROM (${POOLS}) r`],
  ['transaction_readers', 'SELECT address, type, transaction_id FROM transaction_readers', READERS],
  [
    'account_days',
    `SELECT ${DAY_COLUMNS} FROM account_days WHERE NOT (${NOTHING_DAY})`,
    `SELECT * FROM (${DAYS}) r WHERE NOT (${NOTHING_DAY})`,
  ],
  [
    'pool_totals',
    `SELECT type, sum(pools) AS pools, sum(deposited) AS deposited, sum(yield) AS yield, sum(apr_bps) AS apr_bps
     FROM pool_totals GROUP BY type HAVING sum(pools) <> 0 OR sum(deposited) <> 0 OR sum(yield) <> 0 OR sum(apr_bps) <> 0`,
    TOTALS,
  ],
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
    yield: string;
    apr_bps: string;
  }>(TOTALS);
  const sum = (field: 'pools' | 'deposited' | 'yield' | 'apr_bps'): bigint =>
    rows.reduce((total, row) => total + BigInt(row[field]), 0n);
  const byType: Record<string, number> = { individual: 0, cooperative: 0, lottery: 0, rotating: 0 };
  for (const { type, pools } of rows) byType[type] = Number(pools);
  const pools = sum('pools');
  // In hundredths of a percent, rounded half away from zero.
  const mean = pools === 0n ? 0n : (2n * sum('apr_bps') + pools) / (2n * pools);
  return {
    totalPools: Number(pools),
    totalDeposits: sum('deposited').toString(),
    totalYield: sum('yield').toString(),
    averageAPR: Number(mean) / 100,
    byType,
  };
}
