import { connect, lockRepair } from '#verify/checks/connection';
import type { AskedChain } from '#verify/contract/holdings';
import { Findings, type VerifyReport } from '#verify/checks/findings';
import { Look, Stopped } from '#verify/checks/look';
import { CHECKS, runCheck } from './checks';

export interface Options {
  databaseUrl: string;
  /** Undefined: do not compare with the chain. */
  endpoints?: AskedChain;
  repair: boolean;
  /** Number of differences to list. */
  limit: number;
}

/** Statement timeout, enough for a pool or address with millions of transactions. */
const STATEMENT_TIMEOUT_MS = 300_000;

/** Compares all derived data with the ledger, and the ledger with the chain. */
export async function verify(
  { databaseUrl, endpoints, repair, limit }: Options,
  tell: (line: string) => unknown,
  signal: AbortSignal,
): Promise<VerifyReport> {
  const findings = new Findings(limit);
  try {
    const client = await connect(databaseUrl, repair, STATEMENT_TIMEOUT_MS);
    try {
      if (repair) await lockRepair(client);
      await compareAll(new Look(client, findings, { repair, signal, chain: endpoints }), tell);
    } finally {
      await client.end().catch(() => undefined);
    }
  } catch (error) {
    findings.skip((error as Error).message);
  }
  return findings.report();
}

/** Time between two lines about the progress. */
const PROGRESS_MS = 5000;

/** Checks that a node cannot answer are left out and reported. */
async function compareAll(look: Look, tell: (line: string) => unknown): Promise<void> {
  const { chain } = look.mode;
  const failed = new Set<string>();
  let last = Date.now();
  for (const check of CHECKS) {
    if (check.asks && (!chain || failed.has(check.asks))) continue;
    try {
      await runCheck(check, look, (share) => {
        if (Date.now() - last < PROGRESS_MS) return;
        last = Date.now();
        tell(`${check.name}: ${Math.min(99, Math.floor(100 * share))} %`);
      });
    } catch (error) {
      if (!check.asks || error instanceof Stopped) throw error;
      failed.add(check.asks);
      look.findings.skip(`chain: ${(error as Error).message}`);
    }
  }
  if (chain && (await look.rows('SELECT FROM chain_cursor')).length === 0)
    look.findings.skip('no chain has been read yet');
}
