import { byPoolType } from '#values/types';
import { CHECKS, runCheck } from '#verify/checks';
import { connect, lockRepair } from '#verify/checks/connection';
import { Findings, type VerifyReport } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import type { TestApp } from './app';
import { urlAs } from './database';

/** What verification counts from the ledger alone. */
const OF_LEDGER = ['pools', 'totals', 'unpaid', 'addresses'];

/** Verifies what is counted from the ledger alone, of a ledger without events of a chain. */
export async function verifyLedger(app: TestApp, repair = false): Promise<VerifyReport> {
  const client = await connect(urlAs(app.database.url, 'operator'), repair, 60_000);
  try {
    if (repair) await lockRepair(client);
    const look = new Look(client, new Findings(1000), { repair });
    for (const check of CHECKS.filter(({ name }) => OF_LEDGER.includes(name))) await runCheck(check, look);
    return look.findings.report();
  } finally {
    await client.end();
  }
}

/** What verification counts from the ledger itself, and triggers have kept in another way. */
export async function differences(app: TestApp): Promise<unknown[]> {
  const { listed, notChecked } = await verifyLedger(app);
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
