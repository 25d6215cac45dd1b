import { byPoolType } from '#values/types';
import { CHECKS, runCheck } from '#verify/checks';
import { connect } from '#verify/checks/connection';
import { Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import type { TestApp } from './app';
import { urlAs } from './database';

/** What verification counts from the ledger alone. */
const OF_LEDGER = ['pools', 'totals', 'unpaid', 'addresses'];

/** What verification counts from the ledger itself, and triggers have kept in another way. */
export async function differences(app: TestApp): Promise<unknown[]> {
  const client = await connect(urlAs(app.database.url, 'operator'), false, 60_000);
  try {
    const look = new Look(client, new Findings(20));
    for (const check of CHECKS.filter(({ name }) => OF_LEDGER.includes(name))) await runCheck(check, look);
    const { listed, notChecked } = look.findings.report();
    return [...listed, ...notChecked];
  } finally {
    await client.end();
  }
}

/** What GET /analytics/pools must say, from the rows themselves. */
export async function recountedAnalytics(app: TestApp): Promise<Record<string, unknown>> {
  const deposits = (which: string): string =>
    `(SELECT coalesce(sum(amount), 0)::text FROM transactions WHERE type = 'DEPOSIT' AND ${which})`;
  const [totals] = await app.sql(
    `SELECT count(*)::int AS "totalPools", ${deposits(`status <> 'EXPIRED'`)} AS "totalDeposits",
       ${deposits(`status = 'PENDING'`)} AS "pendingDeposits",
       (SELECT coalesce(sum(amount), 0)::text FROM yield_accruals) AS "totalYield",
       coalesce(round(avg(apr_bps)), 0)::float8 / 100 AS "averageAPR" FROM pools`,
  );
  const rows = await app.sql<{ type: string; pools: number }>(
    'SELECT type, count(*)::int AS pools FROM pools GROUP BY 1',
  );
  const byType = byPoolType((type) => rows.find((row) => row.type === type)?.pools ?? 0);
  return { ...totals, byType, otherTokens: [] };
}
