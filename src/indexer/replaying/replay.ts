import type { Client } from 'pg';
import { recorded } from '#platform/operating/records';
import type { Environment } from '#settings/environment';
import { CHECKS, runCheck } from '#verify/checks';
import { lockRepair } from '#verify/checks/connection';
import { HAS_CURSOR } from '#verify/checks/events.sql';
import { Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { connect } from '#indexer/leading/leader';
import { CORRECT_NAMES } from './names.sql';
import { readLotteries } from './event-reader';
import { REACH } from './events.sql';
import { PoolCorrection, correct } from './pool-correction';
import { PoolWalk } from './pool-walk';
import { ShareCorrection } from './share-correction';

/** What a replay has done. */
export interface ReplayReport {
  events: number;
  seconds: number;
  /** Rows or pools that were rebuilt, by what they are; only those that differed. */
  corrected: Record<string, number>;
  /** What the database refuses to have corrected, with its reasons. */
  refused: string[];
  /** Contracts whose logs an adapter reads that `verify` does not know: a replay has no logs to read again. */
  adapted: { contract: string; adapter: string }[];
}

const ADAPTED = `
  SELECT DISTINCT c.address AS contract, c.adapter FROM chain_contracts c
  WHERE c.adapter NOT IN ('ReferencePool', 'Vault') AND EXISTS (SELECT FROM chain_events e WHERE e.contract = c.address)
  ORDER BY 1`;

/** The checks of `verify` whose repair makes what follows from the events and the ledger. */
const REPAIRED = [
  // This process compares positions, while the database compares all else.
  ['positions'],
  ['draws', 'shareTotals', 'winners', 'set aside', 'pools', 'totals', 'of none', 'addresses'],
];
const MOST_REFUSED = 100;
/** For each sort and each table of hashes; what does not fit goes to temporary files. */
const WORK_MEM = '64MB';
/** Time between two lines about the progress. */
const TOLD_MS = 5000;

/**
 * Rebuilds everything that is derived from the chain's events, by the rules of this version, without a node, and writes
 * what differs from what is stored. It runs beside the service: what it compares it reads from snapshots, without locks,
 * and what it corrects it makes again under the cursor's lock, some pools in a transaction. So it may be ended at any
 * time, and run again.
 */
export class Replay {
  /** @param tell gets a line now and then */
  constructor(
    private readonly databaseUrl: string,
    private readonly tell: (line: string) => unknown,
    private readonly signal = new AbortController().signal,
  ) {}

  /** @throws what the database throws, and when another process corrects it */
  async run(): Promise<ReplayReport> {
    const start = performance.now();
    const clients: Client[] = [];
    try {
      for (let i = 0; i < 3; i += 1) {
        clients.push(await connect(this.databaseUrl));
        await clients[i].query(`SET work_mem = '${WORK_MEM}'`);
      }
      const [writer, one, other] = clients;
      await lockRepair(writer);
      const report = await this.all(writer, [one, other]);
      return { ...report, seconds: (performance.now() - start) / 1000 };
    } finally {
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
    }
  }

  private async all(writer: Client, readers: [Client, Client]): Promise<Omit<ReplayReport, 'seconds'>> {
    const { rows } = await writer.query<{ hasCursor: boolean }>(HAS_CURSOR);
    if (!rows[0].hasCursor) return { events: 0, corrected: {}, refused: [], adapted: [] };
    const shares = new ShareCorrection(writer, readers[0]);
    await shares.run(this.signal);
    let names = 0;
    for (const statement of CORRECT_NAMES)
      names += await correct(writer, async (until) => (await writer.query(statement, [until])).rowCount ?? 0);
    const pools = new PoolCorrection(writer);
    const events = await this.walk(readers, pools);
    const repaired = await this.repair([writer, readers[0]]);
    const corrected = {
      ...repaired.mended,
      share_events: shares.rows,
      share_holdings: shares.holdings,
      pool_names: names,
      ...pools.corrected,
      pools: pools.corrected.pools + (repaired.mended.pools ?? 0),
    };
    const { rows: adapted } = await writer.query<ReplayReport['adapted'][number]>(ADAPTED);
    return {
      adapted,
      events,
      corrected,
      refused: [...shares.refused, ...pools.refused, ...repaired.report().notChecked],
    };
  }

  private async walk(readers: [Client, Client], pools: PoolCorrection): Promise<number> {
    const start = performance.now();
    // They wait while pools are corrected.
    for (const reader of readers)
      await reader.query(
        `SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`,
      );
    const { rows } = await readers[0].query<{ effective: string; events: string }>(REACH);
    const lotteries = await readLotteries(readers[0]);
    const walk = await PoolWalk.open(readers, { effective: Number(rows[0].effective), lotteries });
    const progress = setInterval(() => {
      const rate = Math.round((1000 * walk.events) / (performance.now() - start));
      this.tell(
        `${walk.events} of ${rows[0].events} events replayed, ${rate} a second, ${pools.corrected.pools} pools corrected`,
      );
    }, TOLD_MS);
    try {
      await walk.run((pool) => pools.add(pool), this.signal);
      await pools.end();
    } finally {
      clearInterval(progress);
    }
    for (const reader of readers) await reader.query('ROLLBACK');
    return walk.events;
  }

  /** What follows from events and ledger is repaired as by `verify --repair`. */
  private async repair(clients: Client[]): Promise<Findings> {
    const findings = new Findings(MOST_REFUSED);
    const mode = { repair: true, hasEvents: true, signal: this.signal };
    const repair = async (client: Client, names: string[]): Promise<void> => {
      const look = new Look(client, findings, mode);
      for (const check of CHECKS) if (names.includes(check.name)) await runCheck(check, look);
    };
    await Promise.all(REPAIRED.map((names, i) => repair(clients[i], names)));
    return findings;
  }
}

export const asText = ({ events, seconds, corrected, refused, adapted }: ReplayReport): string => {
  const changes = Object.entries(corrected).filter(([, count]) => count > 0);
  return [
    `${events} events replayed in ${seconds.toFixed(1)} s, ${Math.round(events / seconds)} a second`,
    ...changes.map(([what, count]) => `corrected in ${what}: ${count}`),
    ...refused.map((line) => `NOT CORRECTED: ${line}`),
    ...(changes.length === 0 && refused.length === 0 ? ['nothing differs from the stored events'] : []),
    ...adapted.map(
      ({ contract, adapter }) =>
        `NOT READ AGAIN: the logs of ${contract}. If ${adapter} has changed since they were read: rewind --contract ${contract}`,
    ),
    '',
  ].join('\n');
};

/** The operator's command `replay`: runs until it is done, or gets SIGTERM or SIGINT. @returns the exit code */
export async function replay(environment: Environment, json: boolean): Promise<number> {
  const stop = new AbortController();
  for (const event of ['SIGTERM', 'SIGINT'])
    process.on(event, () => stop.abort(new Error('stopped: run it again')));
  const tell = (line: string): unknown => process.stderr.write(`${line}\n`);
  const { DATABASE_URL, OPERATOR } = environment;
  const report = await recorded(
    DATABASE_URL,
    { command: 'replay', arguments: '', by: OPERATOR },
    () => new Replay(DATABASE_URL, tell, stop.signal).run(),
    ({ events, corrected, refused }) => ({ events, corrected, refused: refused.length }),
  );
  const text = json ? `${JSON.stringify(report, null, 2)}\n` : asText(report);
  await new Promise((written) => process.stdout.write(text, written));
  return report.refused.length > 0 ? 1 : 0;
}
