import type { Client } from 'pg';
import { recorded } from '#platform/operating/records';
import type { Environment } from '#settings/environment';
import type { Decision, EventOutcome } from '#indexer/ledger/decide';
import { CHECKS, runCheck } from '#verify/checks';
import { lockRepair } from '#verify/checks/connection';
import { Findings, type VerifyReport, exitCode } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { connect } from '#indexer/leading/leader';
import { PoolCorrection, type Wrong } from './pool-correction';
import { WRONG_ROWS } from './rows.sql';
import { STORED, decideAgain, readLotteries } from './stored-events';

/** What a replay has done. */
export interface ReplayReport {
  events: number;
  seconds: number;
  /** Rows or pools that were rebuilt, by what they are; only those that differed. */
  corrected: Record<string, number>;
  /** What differs and stays: what the database refuses, with its reasons, and what a person has to decide. */
  refused: string[];
  /** Contracts whose logs an adapter reads that `verify` does not know: a replay has no logs to read again. */
  adapted: { contract: string; adapter: string }[];
}

const ADAPTED = `
  SELECT DISTINCT c.address AS contract, c.adapter FROM chain_contracts c
  WHERE c.adapter NOT IN ('ReferencePool', 'Vault') AND EXISTS (SELECT FROM chain_events e WHERE e.contract = c.address)
  ORDER BY 1`;

/** The last block that takes effect, and the number of events. */
const REACH = `
  SELECT applied_number AS effective, (SELECT count(*) FROM chain_events) AS events FROM chain_cursor`;

/**
 * The checks of `verify` whose repair makes what follows from the events and the ledger, by the connection they use. Both
 * connections take about equally long.
 */
const REPAIRED = [
  // Positions of events in doubt stay.
  ['shares', 'set aside', 'names', 'draws', 'winners', 'positions'],
  ['shareTotals', 'pools', 'totals', 'addresses'],
];
const MOST_REFUSED = 100;
/** For each sort and each table of hashes; what does not fit goes to temporary files. */
const WORK_MEM = '64MB';
/** Time between two lines about the progress. */
const PROGRESS_MS = 5000;

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
      for (let i = 0; i < 2; i += 1) {
        clients.push(await connect(this.databaseUrl));
        await clients[i].query(`SET work_mem = '${WORK_MEM}'`);
      }
      const [writer, reader] = clients;
      await lockRepair(writer);
      const report = await this.all(writer, reader);
      return { ...report, seconds: (performance.now() - start) / 1000 };
    } finally {
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
    }
  }

  private async all(writer: Client, reader: Client): Promise<Omit<ReplayReport, 'seconds'>> {
    const mode = { repair: true, signal: this.signal };
    const looks = [reader, writer].map((client) => new Look(client, new Findings(MOST_REFUSED), mode));
    const [reading, writing] = looks;
    const pools = new PoolCorrection(writing);
    const events = await this.walk(reading, writing, pools);
    if (events === undefined) return { events: 0, corrected: {}, refused: [], adapted: [] };
    await Promise.all(REPAIRED.map((names, i) => this.repair(looks[i], names)));
    const left = looks.flatMap(({ findings }) => leftIn(findings.report()));
    const repaired = Object.fromEntries(looks.flatMap(({ findings }) => Object.entries(findings.repaired)));
    const { rows: adapted } = await writer.query<ReplayReport['adapted'][number]>(ADAPTED);
    return {
      adapted,
      events,
      corrected: { ...repaired, ...pools.corrected, pools: pools.corrected.pools + (repaired.pools ?? 0) },
      refused: [...pools.refused, ...left],
    };
  }

  /**
   * Decides all events again. It reads a snapshot, which contains a batch of the indexer completely or not at all, so what
   * differs is wrong. Nothing waits for it.
   * @returns the number of events; undefined before any block was read
   */
  private async walk(reading: Look, writing: Look, pools: PoolCorrection): Promise<number | undefined> {
    const start = performance.now();
    const { client } = reading;
    // The transaction is idle while pools are corrected.
    await client.query(
      `SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`,
    );
    const [reach] = await reading.rows<Record<'effective' | 'events', string>>(REACH);
    if (!reach) return undefined;
    const rules = { effective: Number(reach.effective), lotteries: await readLotteries(client) };
    // The database compares the rows meanwhile.
    const wrongRows = writing.column(WRONG_ROWS).then((ids) => new Set(ids));
    wrongRows.catch(() => undefined);
    let events = 0;
    const progress = setInterval(() => {
      const rate = Math.round((1000 * events) / (performance.now() - start));
      this.tell(
        `${events} of ${reach.events} events replayed, ${rate} a second, ${pools.corrected.pools} pools corrected`,
      );
    }, PROGRESS_MS);
    /** Pools and draws whose events were read; the last one may have more events. */
    const read: (Wrong & { failed: boolean })[] = [];
    const judge = async (count: number): Promise<void> => {
      const wrong = await wrongRows;
      for (const pool of read.splice(0, count)) {
        const ledger = wrong.delete(pool.id) || pool.ledger;
        if (ledger || pool.failed) await pools.add({ ...pool, ledger });
      }
    };
    const note = (id: string, before: EventOutcome, changed?: Decision): void => {
      if (read.at(-1)?.id !== id) read.push({ id, events: 0, ledger: false, failed: false });
      const pool = read.at(-1)!;
      events += 1;
      pool.events += 1;
      if (changed) pool.ledger = true;
      if (before === 'FAILED') pool.failed = true;
    };
    try {
      await decideAgain(reading, [STORED], rules, false, note, () => {
        this.signal.throwIfAborted();
        return judge(read.length - 1);
      });
      await judge(read.length);
      for (const id of await wrongRows) await pools.add({ id, events: 0, ledger: true });
      await pools.end();
    } finally {
      clearInterval(progress);
    }
    await client.query('ROLLBACK');
    return events;
  }

  /** What follows from events and ledger is repaired as by `verify --repair`. */
  private async repair(look: Look, names: string[]): Promise<void> {
    for (const check of CHECKS) if (names.includes(check.name)) await runCheck(check, look);
  }
}

/** What could not be compared, and what differs and was not repaired. */
function leftIn(report: VerifyReport): string[] {
  const left = report.listed.flatMap(({ kind, id, repaired }) => (repaired ? [] : `${kind} ${id}`));
  // What was repaired may have filled the list.
  const isHidden = left.length === 0 && exitCode(report) === 1;
  return [...report.notChecked, ...left, ...(isHidden ? ['differences that `verify` lists'] : [])];
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
