import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { Counter, Gauge, type Registry } from 'prom-client';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CappedChain, CallsUsedUp } from '#verify/contract/holdings';
import { connect } from '#verify/checks/connection';
import { type Difference, Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { CHECKS, type Check, nextBatch } from './checks';

/** What takes longer is left to the `verify` command. */
const TIMEOUT_MS = 5000;
/** Differences of one comparison that are logged at most. */
const MAX_LISTED = 100;
/** Events that are compared in a round, and contracts that are asked for their count. */
const EVENTS_AT_ONCE = 1000;
const CONTRACTS_AT_ONCE = 5;
/** A value takes at most this many questions to its contract. */
const QUESTIONS = 2;
/** Batches of a check that differ: remembered, and compared again in a round. */
const MOST_PARTS = 50;
const MOST_AGAIN = 10;

interface Options {
  databaseUrl: string;
  /** Number of pools, addresses and draws in a round. */
  perRound: number;
  /** Time between rounds; 0 switches verification off. */
  roundMs: number;
  /** Whether to verify now: only the leader does, and only while it is synced. */
  mayVerify: () => boolean;
}

/** Keys that differ, with the differences: compared again in later rounds, to notice when they are repaired. */
interface Part {
  keys: string[];
  kinds: string[];
  /** Differences that were logged. */
  logged: Set<string>;
}

/** How far a walk has come. */
interface Progress {
  after: string;
  /** Keys of the pass under way. */
  done: number;
  /** When the last pass ended. */
  coveredAt: Date | null;
}

const READ_PROGRESS = 'SELECT name, after, done::float8, covered_at AS "coveredAt" FROM verify_walks';
const SAVE_PROGRESS = `
  INSERT INTO verify_walks (name, after, done, covered_at)
  SELECT * FROM json_to_recordset($1::json) AS w(name text, after text, done bigint, "coveredAt" timestamptz)
  ON CONFLICT ON CONSTRAINT verify_walks_pkey DO UPDATE
    SET after = excluded.after, done = excluded.done, covered_at = excluded.covered_at`;

/** Metrics of the continuous verification. */
export function verifyMetrics(registry: Registry) {
  return {
    differences: new Gauge({
      name: 'indexer_verify_differences',
      help: 'Parts of the data that differ from ledger or chain, by kind, as of when each was last compared',
      labelNames: ['kind'],
      registers: [registry],
    }),
    pools: new Counter({
      name: 'indexer_verified_pools_total',
      help: 'Pools compared with the ledger',
      registers: [registry],
    }),
  };
}

/**
 * Verifies what the command does, except for blocks and events on the chain, over and over: a part in each round, from
 * where the last round ended. Its progress is stored, so that it reaches the end despite restarts.
 */
export class ContinuousVerification {
  private readonly logger = new Logger(ContinuousVerification.name);
  private readonly metrics;
  /** Parts by their first key; the one that was compared last comes last. */
  private readonly differing = new Map<Check, Map<string, Part>>(CHECKS.map((check) => [check, new Map()]));
  /** By the name of the check. Undefined until it is read: another process may have continued meanwhile. */
  private progress?: Map<string, Progress>;
  private rounds = 0;

  constructor(
    private readonly options: Options,
    private readonly chain: CappedChain,
    registry: Registry,
    private readonly signal: AbortSignal,
  ) {
    this.metrics = verifyMetrics(registry);
  }

  /** Runs until stopped. Failures are logged, and tried again in the next round. */
  async run(): Promise<void> {
    while (!this.signal.aborted && this.options.roundMs > 0) {
      await sleep(this.options.roundMs, undefined, { signal: this.signal }).catch(() => undefined);
      if (this.signal.aborted) return;
      if (!this.options.mayVerify()) this.forget();
      else await this.round().catch((error: Error) => this.fail('all', error));
    }
  }

  /** From now on, the process that leads reports the differences. */
  private forget(): void {
    for (const parts of this.differing.values()) parts.clear();
    this.progress = undefined;
    this.metrics.differences.reset();
  }

  async round(): Promise<void> {
    const { databaseUrl, perRound } = this.options;
    const client = await connect(databaseUrl, false, TIMEOUT_MS);
    try {
      if (!this.progress) {
        const { rows } = await client.query<Progress & { name: string }>(READ_PROGRESS);
        this.progress = new Map(rows.map(({ name, ...each }) => [name, each]));
      }
      const { progress } = this;
      const stored = CHECKS.filter(({ asks }) => !asks);
      for (const check of stored.filter(({ walk }) => walk)) {
        await this.again(client, check);
        await this.next(client, check, check.name === 'events' ? EVENTS_AT_ONCE : perRound);
      }
      // Comparisons of complete data take longer: one a round.
      const wholes = stored.filter(({ walk }) => !walk);
      await this.next(client, wholes[this.rounds++ % wholes.length], 1);
      await this.askChain(client).catch((error: Error) => {
        if (!(error instanceof CallsUsedUp)) this.fail('chain', error);
      });
      // The connection writes nothing else.
      await client.query('BEGIN READ WRITE');
      await client
        .query(SAVE_PROGRESS, [JSON.stringify([...progress].map(([name, each]) => ({ name, ...each })))])
        .finally(() => client.query('COMMIT'));
    } finally {
      const { differences } = this.metrics;
      differences.reset();
      for (const parts of this.differing.values())
        for (const { kinds } of parts.values()) for (const kind of kinds) differences.inc({ kind });
      await client.end().catch(() => undefined);
    }
  }

  /** What contracts say. @throws CallsUsedUp as soon as the calls of a round do not suffice */
  private async askChain(client: Client): Promise<void> {
    const { chain } = this;
    await chain.begin();
    const checks = CHECKS.filter(({ walk, asks }) => walk && asks === 'contracts');
    const ofPools = ({ name }: Check): boolean => name === 'chain';
    const limit = Math.max(1, Math.floor(chain.values / QUESTIONS));
    const pools = checks.find(ofPools)!;
    let isEnd = await this.next(client, pools, limit);
    for (const check of checks.filter((each) => !ofPools(each)))
      await this.next(client, check, check.name === 'contracts' ? CONTRACTS_AT_ONCE : chain.values);
    // The first gets most of the calls that are left.
    const turn = this.rounds % checks.length;
    for (const check of [...checks.slice(turn), ...checks.slice(0, turn)]) await this.again(client, check);
    while (!isEnd && !this.signal.aborted) isEnd = await this.next(client, pools, limit);
  }

  /** Compares the next batch of keys. @returns whether it was the last one, or failed */
  private async next(client: Client, check: Check, limit: number): Promise<boolean> {
    const { name, walk } = check;
    const first = walk?.first ?? '';
    const start: Progress = { after: first, done: 0, coveredAt: null };
    const { after, done, coveredAt } = this.progress!.get(name) ?? start;
    let isEnd = true;
    await this.compare(client, check, async (look) => {
      const { keys, last } = await nextBatch(check, look, after, limit);
      isEnd = last === null;
      const reached = { after: last ?? first, done: done + keys.length, coveredAt };
      this.progress!.set(name, isEnd ? { ...start, coveredAt: new Date() } : reached);
      if (name === 'pools') this.metrics.pools.inc(keys.length);
      return keys;
    });
    return isEnd;
  }

  /** Compares some of what differed, by turns. */
  private async again(client: Client, check: Check): Promise<void> {
    const parts = this.differing.get(check)!;
    for (const [key, { keys }] of [...parts].slice(0, MOST_AGAIN)) {
      await this.compare(client, check, async (look) => {
        await check.compare(look, keys);
        return keys;
      });
      const left = parts.get(key);
      if (!left) continue;
      parts.delete(key);
      parts.set(key, left);
    }
  }

  /** What fails or takes too long does not keep others from being compared. @param work returns the keys compared */
  private async compare(
    client: Client,
    check: Check,
    work: (look: Look) => Promise<string[]>,
  ): Promise<void> {
    if (this.signal.aborted) return;
    const findings = new Findings(MAX_LISTED);
    const { chain, signal } = this;
    try {
      const keys = await work(new Look(client, findings, { signal, chain }));
      const { listed, complete, notChecked } = findings.report();
      notChecked.forEach((reason) => this.fail(check.asks ? 'chain' : check.name, new Error(reason)));
      this.note(check, keys, listed, complete);
    } catch (error) {
      if (error instanceof CallsUsedUp) throw error;
      this.fail(check.name, error as Error);
    }
  }

  /** Differences from contracts are remembered for each value, all others for the batch that was compared. */
  private note(check: Check, keys: string[], found: Difference[], isComplete: boolean): void {
    const parts = this.differing.get(check)!;
    const batches = check.asks
      ? [...new Set([...keys, ...found.map(({ id }) => id)])].map((key) => [key])
      : [keys];
    for (const batch of batches) {
      const [key] = batch;
      const of = check.asks ? found.filter(({ id }) => id === key) : found;
      if (of.length === 0 && !isComplete) continue;
      const logged = parts.get(key)?.logged ?? new Set<string>();
      parts.delete(key);
      if (of.length === 0 || parts.size >= MOST_PARTS) continue;
      for (const each of of) {
        const text = `${each.kind} of ${each.id}`;
        if (!logged.has(text)) this.log(each);
        logged.add(text);
      }
      parts.set(key, { keys: batch, kinds: [...new Set(of.map(({ kind }) => kind))], logged });
    }
  }

  private fail(what: string, { message }: Error): void {
    this.logger.warn(`${what} could not be verified: ${message}`);
  }

  private log({ kind, id, found, wanted }: Difference): void {
    this.logger.error(
      `DIFFERENCE in ${kind} of ${id}: is ${found ?? 'nothing'}, should be ${wanted ?? 'nothing'}`,
    );
  }
}
