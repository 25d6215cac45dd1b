import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChainComparison } from '#verify/checks/chain';
import { connect } from '#verify/checks/connection';
import { NEXT_ADDRESSES } from '#verify/checks/days.sql';
import { DerivedComparison } from '#verify/checks/derived';
import type { EndpointRotation } from '#verify/checks/endpoint-rotation';
import { HAS_CURSOR } from '#verify/checks/events.sql';
import { type Difference, Findings } from '#verify/checks/findings';
import { NEXT_POOLS } from '#verify/checks/pools.sql';
import type { VerifyMetrics } from './metrics';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** A pool or address that takes longer is left to the `verify` command. */
const KEY_TIMEOUT_MS = 5000;
/** So many pools and addresses that differ are checked again in every round, to notice when they are repaired. */
const MOST_DIFFERING = 50;
/** Differences of one key that are logged at most. */
const MAX_LISTED = 100;

export interface ContinuousOptions {
  databaseUrl: string;
  /** Number of pools, and of addresses, in a round. */
  perRound: number;
  /** Time between rounds; 0 switches verification off. */
  roundMs: number;
  /** Whether to verify now: only the leader does, and only while it is synced. */
  mayVerify: () => boolean;
}

/** How far a walk over keys has come, and the keys that differ, with the kinds of their differences. */
interface Walk {
  after: string;
  readonly first: string;
  readonly next: string;
  readonly differing: Map<string, string[]>;
}

const walk = (next: string, first: string): Walk => ({ after: first, first, next, differing: new Map() });

/** Verifies all pools and addresses over and over, a few in each round. */
export class ContinuousVerification {
  private readonly logger = new Logger(ContinuousVerification.name);
  private readonly pools = walk(NEXT_POOLS, FIRST_ID);
  private readonly addresses = walk(NEXT_ADDRESSES, '');

  constructor(
    private readonly options: ContinuousOptions,
    private readonly endpoints: EndpointRotation,
    private readonly metrics: VerifyMetrics,
    private readonly signal: AbortSignal,
  ) {}

  /** Runs until stopped. Failures are logged, and tried again in the next round. */
  async run(): Promise<void> {
    while (!this.signal.aborted && this.options.roundMs > 0) {
      await sleep(this.options.roundMs, undefined, { signal: this.signal }).catch(() => undefined);
      if (this.signal.aborted) return;
      if (!this.options.mayVerify()) this.forget();
      else
        await this.round().catch((error: Error) => this.logger.warn(`verification failed: ${error.message}`));
    }
  }

  /** From now on, the process that leads reports the differences. */
  private forget(): void {
    for (const each of [this.pools, this.addresses]) each.differing.clear();
    this.metrics.show(new Map());
  }

  private async round(): Promise<void> {
    const client = await connect(this.options.databaseUrl, false, KEY_TIMEOUT_MS);
    try {
      const { rows } = await client.query<{ hasCursor: boolean }>(HAS_CURSOR);
      const mode = { repair: false, remember: false, hasEvents: rows[0].hasCursor };
      await this.verifyNext(client, this.pools, async (ids, findings) => {
        await new DerivedComparison(client, findings, mode).pools(ids);
        await new ChainComparison(client, this.endpoints, findings, this.signal).pools(ids);
        this.metrics.verified(ids.length);
      });
      await this.verifyNext(client, this.addresses, (addresses, findings) =>
        new DerivedComparison(client, findings, mode).addresses(addresses),
      );
    } finally {
      this.show();
      await client.end().catch(() => undefined);
    }
  }

  /** Verifies the next keys, and again those that differed. */
  private async verifyNext(
    client: Client,
    at: Walk,
    compare: (keys: string[], findings: Findings) => Promise<void>,
  ): Promise<void> {
    const { rows } = await client.query<Record<string, string>>(at.next, [at.after, this.options.perRound]);
    const keys = rows.map((row) => Object.values(row)[0]);
    // One by one, so that a pool that takes too long or fails does not keep others from being verified.
    for (const key of new Set([...at.differing.keys(), ...keys])) {
      if (this.signal.aborted) return;
      const findings = new Findings(MAX_LISTED);
      try {
        await compare([key], findings);
      } catch (error) {
        this.logger.warn(`${key} could not be verified: ${(error as Error).message}`);
        continue;
      }
      this.note(at, key, findings);
    }
    at.after = keys.length < this.options.perRound ? at.first : keys.at(-1)!;
  }

  private note(at: Walk, key: string, findings: Findings): void {
    const { differences, listed, notChecked } = findings.report();
    notChecked.forEach((reason) => this.logger.warn(`${key} could not be verified: ${reason}`));
    const before = at.differing.get(key) ?? [];
    const now = Object.keys(differences);
    // Log a difference once, not in every round.
    listed.filter(({ kind }) => !before.includes(kind)).forEach((each) => this.log(each));
    if (now.length === 0) {
      if (notChecked.length === 0) at.differing.delete(key);
    } else if (at.differing.has(key) || at.differing.size < MOST_DIFFERING) at.differing.set(key, now);
  }

  private log({ kind, id, found, wanted }: Difference): void {
    this.logger.error(
      `DIFFERENCE in ${kind} of ${id}: is ${found ?? 'nothing'}, should be ${wanted ?? 'nothing'}`,
    );
  }

  private show(): void {
    const counts = new Map<string, number>();
    for (const { differing } of [this.pools, this.addresses])
      for (const kinds of differing.values())
        for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    this.metrics.show(counts);
  }
}
