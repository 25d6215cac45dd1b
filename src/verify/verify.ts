import { connect, lockRepair } from '#verify/checks/connection';
import type { AskedChain } from '#verify/contract/holdings';
import { HAS_CURSOR } from '#verify/checks/events.sql';
import { Findings, type VerifyReport } from '#verify/checks/findings';
import { Look, Stopped } from '#verify/checks/look';
import { CREATE_MEMORY } from '#verify/checks/pools.sql';
import { CHECKS, runCheck } from './checks';
import type { Progress } from './progress';

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
export class Verification {
  private readonly findings: Findings;

  constructor(
    private readonly options: Options,
    private readonly progress: Progress,
    private readonly signal: AbortSignal,
  ) {
    this.findings = new Findings(options.limit);
  }

  async run(): Promise<VerifyReport> {
    const { databaseUrl, repair } = this.options;
    try {
      const client = await connect(databaseUrl, true, STATEMENT_TIMEOUT_MS);
      try {
        await client.query(CREATE_MEMORY);
        if (repair) await lockRepair(client);
        else await client.query('SET default_transaction_read_only = on');
        const { rows } = await client.query<{ hasCursor: boolean }>(HAS_CURSOR);
        await this.compare(
          new Look(client, this.findings, {
            repair,
            remember: true,
            hasEvents: rows[0].hasCursor,
            signal: this.signal,
            chain: this.options.endpoints,
            advance: (done) => this.progress.advance(done, 0),
          }),
        );
      } finally {
        await client.end().catch(() => undefined);
      }
    } catch (error) {
      this.findings.skip((error as Error).message);
    }
    this.progress.end();
    return this.findings.report();
  }

  /** What a node cannot tell is left out, and said. */
  private async compare(look: Look): Promise<void> {
    const { hasEvents, chain } = look.mode;
    const failed = new Set<string>();
    for (const check of CHECKS) {
      if (check.ofChain && !hasEvents) continue;
      if (check.asks && (!chain || failed.has(check.asks))) continue;
      this.progress.begin(check.name);
      try {
        await runCheck(check, look, (rows, share) => this.progress.advance(rows, share));
      } catch (error) {
        if (!check.asks || error instanceof Stopped) throw error;
        failed.add(check.asks);
        this.findings.skip(`chain: ${(error as Error).message}`);
      }
    }
    if (chain && !hasEvents) this.findings.skip('no chain has been read yet');
  }
}
