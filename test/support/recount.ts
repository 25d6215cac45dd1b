import { byPoolType } from '#values/types';
import type { TestApp } from './app';
import { urlAs } from './database';
import { verify } from './verify/verify-scene';

/** What verification counts from the ledger itself, and triggers have kept in another way. */
export async function differences(app: TestApp): Promise<unknown[]> {
  const databaseUrl = urlAs(app.database.url, 'operator');
  const { listed, notChecked } = await verify({ databaseUrl, repair: false, limit: 20 });
  return [...listed, ...notChecked];
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
