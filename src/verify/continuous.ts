import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '#verify/checks/connection';
import { HAS_CURSOR } from '#verify/checks/events.sql';
import { type Difference, Findings } from '#verify/checks/findings';
import { CREATE_MEMORY } from '#verify/checks/pools.sql';
import { FIRST_HOLDER } from '#verify/shares/shares';
import { type CappedChain, ChainWalk, FIRST_VALUE } from './chain-walk';
import { Differing } from './differing';
import type { VerifyMetrics } from './metrics';
import { Places, estimate } from './places';
import { Look, type Walk, walks } from './walks';

/** A key that takes longer is left to the `verify` command. */
const KEY_TIMEOUT_MS = 5000;
/** Differences of one look that are logged at most. */
const MAX_LISTED = 100;
const CHAIN = 'chain';
const SHARES_AT_CHAIN = 'shares on the chain';

export interface ContinuousOptions {
  databaseUrl: string;
  /** Number of pools, addresses and draws in a round. */
  perRound: number;
  /** Time between rounds; 0 switches verification off. */
  roundMs: number;
  /** Whether to verify now: only the leader does, and only while it is synced. */
  mayVerify: () => boolean;
}

/** Verifies all that the command does over and over, a part in each round, and goes on where the last round ended. */
export class ContinuousVerification {
  private readonly logger = new Logger(ContinuousVerification.name);
  private readonly walks = walks();
  private readonly differing = new Map<string, Differing>();
  private readonly chain: ChainWalk;
  /** Undefined until they are read: another process may have gone on meanwhile. */
  private places?: Places;

  constructor(
    private readonly options: ContinuousOptions,
    chain: CappedChain,
    private readonly metrics: VerifyMetrics,
    private readonly signal: AbortSignal,
  ) {
    this.chain = new ChainWalk(chain, signal);
    for (const name of [...this.walks.map((walk) => walk.name), CHAIN])
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
      await client.query(`BEGIN READ WRITE; ${CREATE_MEMORY}; COMMIT`);
      if (!this.places) await (this.places = new Places(this.metrics)).load(client);
      const { rows } = await client.query<{ hasCursor: boolean }>(HAS_CURSOR);
      const [{ hasCursor }] = rows;
      for (const walk of this.walks)
        if (hasCursor || !walk.ofChain) await this.goOn(client, walk, hasCursor, this.places);
      if (hasCursor) await this.goOnAtChain(client, this.places);
      await this.places.keep(client);
    } finally {
      this.metrics.show([...this.differing.values()].flatMap((each) => each.kinds));
      await client.end().catch(() => undefined);
    }
  }

  /** Compares the next keys, and again those that differed. */
  private async goOn(client: Client, walk: Walk, hasEvents: boolean, places: Places): Promise<void> {
    const limit = this.options.perRound;
    const differing = this.differing.get(walk.name)!;
    const after = places.after(walk.name, walk.first);
    const keys = await walk.next(client, after, limit);
    let end: string | null = walk.bySteps ? after : keys.length < limit ? null : keys.at(-1)!;
    let done = 0;
    // One by one, so that a key that takes too long or fails does not keep others from being compared.
    for (const key of new Set([...differing.keys, ...keys])) {
      if (this.signal.aborted) return;
      const findings = new Findings(MAX_LISTED);
      const mode = { repair: false, remember: false, hasEvents };
      const signal = AbortSignal.any([this.signal, AbortSignal.timeout(KEY_TIMEOUT_MS)]);
      try {
        const next = await walk.compare(new Look(client, findings, mode, signal), key);
        if (keys.includes(key)) done += 1;
        if (next !== undefined && keys.includes(key)) end = next;
      } catch (error) {
        this.fail(key, error as Error);
        continue;
      }
      this.report(key, findings);
      differing.note(key, findings);
    }
    const rows = await estimate(client, walk.table);
    places.move(walk.name, done * walk.rowsOfKey, end, walk.first, rows);
    if (walk.name === 'pools') this.metrics.verified(done);
  }

  /** The same for what the chain says, as far as the calls of a round suffice. */
  private async goOnAtChain(client: Client, places: Places): Promise<void> {
    const differing = this.differing.get(CHAIN)!;
    try {
      await this.chain.begin();
      let isEnd = await this.partOfChain(client, places);
      const again = differing.turn(this.chain.again);
      if (again.length > 0)
        await this.compareChain(again, (findings) => this.chain.askAgain(client, again, findings));
      await this.compareChain([], (findings) => this.chain.counts(client, findings));
      if (this.chain.hasCalls) await this.sharesOfChain(client, places);
      while (!isEnd && !this.signal.aborted && this.chain.hasCalls)
        isEnd = await this.partOfChain(client, places);
    } catch (error) {
      this.fail('chain', error as Error);
    }
  }

  /** @returns whether it was the last part */
  private async partOfChain(client: Client, places: Places): Promise<boolean> {
    const after = places.after(CHAIN, FIRST_VALUE);
    const rows = await estimate(client, 'pools');
    return this.compareChain([], async (findings) => {
      const { last, pools } = await this.chain.next(client, after, findings);
      places.move(CHAIN, pools, last, FIRST_VALUE, rows);
      return last === null;
    });
  }

  private async sharesOfChain(client: Client, places: Places): Promise<void> {
    const after = places.after(SHARES_AT_CHAIN, FIRST_HOLDER);
    const rows = await estimate(client, 'share_holdings');
    await this.compareChain([], async (findings) => {
      const { last, accounts } = await this.chain.shares(client, after, findings);
      places.move(SHARES_AT_CHAIN, accounts, last, FIRST_HOLDER, rows);
    });
  }

  private async compareChain<T>(again: string[], compare: (findings: Findings) => Promise<T>): Promise<T> {
    const findings = new Findings(MAX_LISTED);
    const result = await compare(findings);
    this.report('chain', findings);
    this.differing.get(CHAIN)!.noteValues(again, findings);
    return result;
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
