import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CappedChain } from '#verify/contract/holdings';
import { connect } from '#verify/checks/connection';
import { HAS_CURSOR } from '#verify/checks/events.sql';
import { type Difference, Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { CHECKS, type Check, nextBatch } from './checks';
import type { VerifyMetrics } from './metrics';
import { Places } from './places';

/** What takes longer is left to the `verify` command. */
const TIMEOUT_MS = 5000;
/** Differences of one comparison that are logged at most. */
const MAX_LISTED = 100;
/** Events that are compared in a round, and contracts that are asked for their count. */
const EVENTS_AT_ONCE = 1000;
const CONTRACTS_AT_ONCE = 5;
/** Questions to a contract about one value: hardly ever more. */
const QUESTIONS = 2;
/** Parts of a check that differ: remembered, and compared again in a round. */
const MOST_PARTS = 50;
const MOST_AGAIN = 10;
/** What is compared as a whole rests for so many times what it took, so that it takes a hundredth of the time at most. */
const REST = 100;

export interface ContinuousOptions {
  databaseUrl: string;
  /** Number of pools, addresses and draws in a round. */
  perRound: number;
  /** Time between rounds; 0 switches verification off. */
  roundMs: number;
  /** Whether to verify now: only the leader does, and only while it is synced. */
  mayVerify: () => boolean;
}

interface Round {
  client: Client;
  hasEvents: boolean;
  places: Places;
}

/** Keys that differ, with the differences: compared again in later rounds, to notice when they are repaired. */
interface Part {
  keys: string[];
  kinds: string[];
  /** Differences that were logged. */
  logged: Set<string>;
}

/**
 * Verifies what the command does, except for blocks and events on the chain, over and over: a part in each round, from
 * where the last round ended.
 */
export class ContinuousVerification {
  private readonly logger = new Logger(ContinuousVerification.name);
  private readonly walks = CHECKS.filter(({ walk, asks }) => walk && !asks);
  private readonly wholes = CHECKS.filter(({ walk, asks }) => !walk && !asks);
  private readonly atChain = CHECKS.filter(({ walk, asks }) => walk && asks === 'contracts');
  /** By check and first key. */
  private readonly differing = new Map<Check, Map<string, Part>>();
  /** How many of its parts that differ were compared again. */
  private readonly turns = new Map<Check, number>();
  /** Until when a comparison of complete data rests. */
  private readonly resting = new Map<Check, number>();
  /** Undefined until they are read: another process may have gone on meanwhile. */
  private places?: Places;

  constructor(
    private readonly options: ContinuousOptions,
    private readonly chain: CappedChain,
    private readonly metrics: VerifyMetrics,
    private readonly signal: AbortSignal,
  ) {}

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
    this.differing.clear();
    this.resting.clear();
    this.places = undefined;
    this.metrics.forget();
  }

  async round(): Promise<void> {
    const client = await connect(this.options.databaseUrl, false, TIMEOUT_MS);
    try {
      if (!this.places) await (this.places = new Places(this.metrics)).load(client);
      const { rows } = await client.query<{ hasCursor: boolean }>(HAS_CURSOR);
      const round = { client, hasEvents: rows[0].hasCursor, places: this.places };
      const isPossible = ({ ofChain }: Check): boolean => round.hasEvents || !ofChain;
      for (const check of this.walks.filter(isPossible)) {
        await this.again(round, check, MOST_AGAIN);
        await this.next(round, check, check.name === 'events' ? EVENTS_AT_ONCE : this.options.perRound);
      }
      const start = Date.now();
      const rested = (check: Check): number => this.resting.get(check) ?? 0;
      const [whole] = this.wholes.filter(isPossible).sort((a, b) => rested(a) - rested(b));
      if (rested(whole) <= start) {
        await this.next(round, whole, 1);
        this.resting.set(whole, start + REST * (Date.now() - start));
      }
      if (round.hasEvents) await this.askChain(round);
      await this.places.keep(client);
    } finally {
      const parts = [...this.differing.values()].flatMap((each) => [...each.values()]);
      this.metrics.show(parts.flatMap(({ kinds }) => kinds));
      await client.end().catch(() => undefined);
    }
  }

  /** What contracts say, as far as the calls of a round suffice. */
  private async askChain(round: Round): Promise<void> {
    const { chain } = this;
    try {
      await chain.begin();
      const limit = Math.max(1, Math.floor(chain.values / QUESTIONS));
      const hasCalls = (values: number): boolean => chain.left > chain.cost(values);
      const pools = this.atChain.find(({ name }) => name === 'chain')!;
      let isEnd = await this.next(round, pools, limit);
      for (const check of this.atChain) await this.again(round, check, this.callsFor());
      for (const check of this.atChain.filter((each) => each !== pools)) {
        const values = check.name === 'contracts' ? CONTRACTS_AT_ONCE : chain.values;
        if (hasCalls(values)) await this.next(round, check, values);
      }
      while (!isEnd && !this.signal.aborted && hasCalls(chain.values))
        isEnd = await this.next(round, pools, limit);
    } catch (error) {
      this.fail('chain', error as Error);
    }
  }

  /** How many values may be asked for again: each has up to three questions, which are asked three times. */
  private callsFor(): number {
    let count = 0;
    while (count < 2 * MOST_AGAIN && 3 * this.chain.cost(3 * (count + 1)) <= this.chain.left) count += 1;
    return count;
  }

  /** Compares the next batch of keys. @returns whether it was the last one, or failed */
  private async next(round: Round, check: Check, limit: number): Promise<boolean> {
    const { places } = round;
    const { name, walk } = check;
    const first = walk?.first ?? '';
    const after = places.after(name, first);
    let isEnd = true;
    await this.compare(round, check, async (look) => {
      const { keys, last } = await nextBatch(check, look, after, limit);
      isEnd = last === null;
      places.move(name, keys.length, last, first, walk ? await look.estimate(walk.table) : 1);
      if (name === 'pools') this.metrics.verified(keys.length);
      return keys;
    });
    return isEnd;
  }

  /** Compares some of what differed, by turns. */
  private async again(round: Round, check: Check, count: number): Promise<void> {
    const parts = [...(this.differing.get(check)?.values() ?? [])];
    const turn = this.turns.get(check) ?? 0;
    const from = turn < parts.length ? turn : 0;
    const keys = parts.slice(from, from + count).map((part) => part.keys);
    this.turns.set(check, from + keys.length);
    // What contracts say takes as few calls as possible.
    for (const some of check.asks && keys.length > 0 ? [keys.flat()] : keys)
      await this.compare(round, check, async (look) => {
        await check.compare(look, some);
        return some;
      });
  }

  /** What fails or takes too long does not keep others from being compared. @param work returns the keys compared */
  private async compare(
    { client, hasEvents }: Round,
    check: Check,
    work: (look: Look) => Promise<string[]>,
  ): Promise<void> {
    if (this.signal.aborted) return;
    const findings = new Findings(MAX_LISTED);
    const { chain, signal } = this;
    try {
      const keys = await work(new Look(client, findings, { hasEvents, signal, chain }));
      const { listed, complete, notChecked } = findings.report();
      notChecked.forEach((reason) => this.fail(check.asks ? 'chain' : check.name, new Error(reason)));
      this.note(check, keys, listed, complete);
    } catch (error) {
      this.fail(check.name, error as Error);
    }
  }

  /** Differences from contracts are remembered for each value, all others for the batch that was compared. */
  private note(check: Check, keys: string[], found: Difference[], isComplete: boolean): void {
    const parts = this.differing.get(check) ?? new Map<string, Part>();
    this.differing.set(check, parts);
    const batches = check.asks
      ? [...new Set([...keys, ...found.map(({ id }) => id)])].map((key) => [key])
      : [keys];
    for (const batch of batches) {
      const [key] = batch;
      const of = check.asks ? found.filter(({ id }) => id === key) : found;
      const part = parts.get(key) ?? { keys: batch, kinds: [], logged: new Set() };
      if (of.length === 0 && !isComplete) continue;
      parts.delete(key);
      if (of.length === 0 || parts.size >= MOST_PARTS) continue;
      for (const each of of) {
        const text = `${each.kind} of ${each.id}`;
        if (!part.logged.has(text)) this.log(each);
        part.logged.add(text);
      }
      parts.set(key, { ...part, kinds: [...new Set(of.map(({ kind }) => kind))] });
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
