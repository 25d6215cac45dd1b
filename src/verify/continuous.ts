import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CappedChain } from '#verify/contract/holdings';
import { connect } from '#verify/checks/connection';
import { HAS_CURSOR } from '#verify/checks/events.sql';
import { type Difference, Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { CHECKS, type Keyed, POOLS_AT_CHAIN, type Stepped, type Whole, stepOf } from './checks';
import { Differing } from './differing';
import type { VerifyMetrics } from './metrics';
import { Places } from './places';

/** A key that takes longer is left to the `verify` command. */
const KEY_TIMEOUT_MS = 5000;
/** Differences of one look that are logged at most. */
const MAX_LISTED = 100;
/** Rows that one step of a walk goes over. */
const ROWS_AT_ONCE = 1000;
/** Pools whose values are put together into one part, and contracts that are asked for their count in a round. */
const POOLS_AT_ONCE = 20;
const CONTRACTS_AT_ONCE = 5;
/** Values that differed and are asked for again in a round. */
const MOST_AGAIN = 20;
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

/** One comparison after another. If counting all pools or a week's published events takes too long, use the command. */
function sums(): Stepped {
  const resting = new Map<string, { until: number; found: Difference[] }>();
  const wholes = CHECKS.filter((check): check is Whole => !('first' in check) && !check.asks);
  wholes.sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    name: 'sums',
    ofChain: false,
    table: 'pool_totals',
    first: '',
    async step(look, after) {
      const check = wholes.find(({ name }) => name > after) ?? wholes[0];
      const { name } = check;
      const part = { last: check === wholes.at(-1) ? null : name, rows: 1 };
      if (check.ofChain && !look.mode.hasEvents) return part;
      const start = Date.now();
      const last = resting.get(name);
      let found = last?.found ?? [];
      // While a comparison rests, its findings stay.
      if (last && start < last.until) found.forEach((each) => look.findings.add(each));
      else
        try {
          await check.compare(look);
          found = look.findings.report().listed;
        } catch (error) {
          // One that always fails does not keep the others from being compared.
          look.findings.skip(`${name}: ${(error as Error).message}`);
          part.rows = 0;
        } finally {
          resting.set(name, { until: Date.now() + REST * (Date.now() - start), found });
        }
      return part;
    },
  };
}

interface Round {
  client: Client;
  hasEvents: boolean;
  places: Places;
}

/**
 * Verifies what the command does, except for blocks and events on the chain, over and over: a part in each round, from
 * where the last round ended.
 */
export class ContinuousVerification {
  private readonly logger = new Logger(ContinuousVerification.name);
  private readonly walks: (Keyed | Stepped)[];
  private readonly atChain: (Keyed | Stepped)[];
  private readonly differing = new Map<string, Differing>();
  /** Undefined until they are read: another process may have gone on meanwhile. */
  private places?: Places;

  constructor(
    private readonly options: ContinuousOptions,
    private readonly chain: CappedChain,
    private readonly metrics: VerifyMetrics,
    private readonly signal: AbortSignal,
  ) {
    const all = CHECKS.filter((check): check is Keyed | Stepped => 'first' in check);
    this.walks = [...all.filter(({ asks }) => !asks), sums()];
    this.atChain = all.filter(({ asks }) => asks === 'contracts');
    for (const { name } of [...this.walks, ...this.atChain])
      this.differing.set(name, new Differing((difference) => this.log(difference)));
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
    for (const each of this.differing.values()) each.clear();
    this.places = undefined;
    this.metrics.forget();
  }

  async round(): Promise<void> {
    const client = await connect(this.options.databaseUrl, false, KEY_TIMEOUT_MS);
    try {
      if (!this.places) await (this.places = new Places(this.metrics)).load(client);
      const { rows } = await client.query<{ hasCursor: boolean }>(HAS_CURSOR);
      const round = { client, hasEvents: rows[0].hasCursor, places: this.places };
      for (const walk of this.walks)
        if (round.hasEvents || !walk.ofChain)
          await this.goOn(round, walk).catch((error: Error) => this.fail(walk.name, error));
      if (round.hasEvents) await this.goOnAtChain(round);
      await this.places.keep(client);
    } finally {
      this.metrics.show([...this.differing.values()].flatMap((each) => each.kinds));
      await client.end().catch(() => undefined);
    }
  }

  private look({ client, hasEvents }: Round): Look {
    const signal = AbortSignal.any([this.signal, AbortSignal.timeout(KEY_TIMEOUT_MS)]);
    return new Look(client, new Findings(MAX_LISTED), { hasEvents, signal });
  }

  /** Compares the next keys, and again those that differed. The key of a step is where to go on. */
  private async goOn(round: Round, walk: Keyed | Stepped): Promise<void> {
    const limit = this.options.perRound;
    const differing = this.differing.get(walk.name)!;
    const after = round.places.after(walk.name, walk.first);
    const keys = 'step' in walk ? [after] : await walk.keys(this.look(round), after, limit);
    let last = 'step' in walk ? after : keys.length < limit ? null : keys.at(-1)!;
    let rows = 0;
    // One by one, so that a key that takes too long or fails does not keep others from being compared.
    for (const key of new Set([...differing.keys, ...keys])) {
      if (this.signal.aborted) return;
      const look = this.look(round);
      const isNext = keys.includes(key);
      const what = 'step' in walk ? walk.name : key;
      try {
        if ('step' in walk) {
          const part = await walk.step(look, key, ROWS_AT_ONCE);
          if (isNext) ({ last, rows } = part);
        } else {
          await walk.compare(look, [key]);
          rows += Number(isNext);
        }
      } catch (error) {
        this.fail(what, error as Error);
        continue;
      }
      this.report(what, look.findings);
      differing.note(key, look.findings);
    }
    round.places.move(walk.name, rows, last, walk.first, await this.look(round).estimate(walk.table));
    if (walk.name === 'pools') this.metrics.verified(rows);
  }

  /** The same for what contracts say, as far as the calls of a round suffice. */
  private async goOnAtChain(round: Round): Promise<void> {
    const { chain } = this;
    const hasCalls = (values: number): boolean => chain.left > chain.cost(values);
    try {
      await chain.begin();
      let isEnd = await this.partOfChain(round, POOLS_AT_CHAIN, POOLS_AT_ONCE);
      for (const walk of this.atChain) {
        const again = this.differing.get(walk.name)!.turn(this.again);
        if (again.length === 0) continue;
        const compare = 'step' in walk ? walk.again! : walk.compare;
        await this.compareChain(round, walk, again, (look) => compare(look, again));
      }
      for (const walk of this.atChain.filter((each) => each !== POOLS_AT_CHAIN)) {
        const values = walk.name === 'contracts' ? CONTRACTS_AT_ONCE : chain.values;
        if (hasCalls(values)) await this.partOfChain(round, walk, values);
      }
      while (!isEnd && !this.signal.aborted && hasCalls(chain.values))
        isEnd = await this.partOfChain(round, POOLS_AT_CHAIN, POOLS_AT_ONCE);
    } catch (error) {
      this.fail('chain', error as Error);
    }
  }

  /** How many values that differed may be asked for again: each has up to three questions, which are asked three times. */
  private get again(): number {
    let count = 0;
    while (count < MOST_AGAIN && 3 * this.chain.cost(3 * (count + 1)) <= this.chain.left) count += 1;
    return count;
  }

  /** @returns whether it was the last part of the round */
  private async partOfChain(round: Round, walk: Keyed | Stepped, limit: number): Promise<boolean> {
    const after = round.places.after(walk.name, walk.first);
    let isEnd = true;
    await this.compareChain(round, walk, [], async (look) => {
      const { last, rows } = await stepOf(walk, look, after, limit);
      round.places.move(walk.name, rows, last, walk.first, await look.estimate(walk.table));
      isEnd = last === null;
    });
    return isEnd;
  }

  /** A part whose endpoints never agree does not keep the others from being compared. */
  private async compareChain(
    { client }: Round,
    walk: Keyed | Stepped,
    again: string[],
    compare: (look: Look) => Promise<void>,
  ): Promise<void> {
    const { chain, signal } = this;
    const findings = new Findings(MAX_LISTED);
    try {
      await compare(new Look(client, findings, { hasEvents: true, signal, chain, values: chain.values }));
    } catch (error) {
      return this.fail(walk.name, error as Error);
    }
    this.report('chain', findings);
    this.differing.get(walk.name)!.noteValues(again, findings);
  }

  private report(key: string, findings: Findings): void {
    findings.report().notChecked.forEach((reason) => this.fail(key, new Error(reason)));
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
