import type { Client } from 'pg';
import { ChainComparison } from '#verify/checks/chain';
import { CONTRACTS } from '#verify/checks/chain.sql';
import { connect, lockRepair } from '#verify/checks/connection';
import { NEXT_ADDRESSES } from '#verify/checks/days.sql';
import { DerivedComparison, type DrawKey } from '#verify/checks/derived';
import type { EndpointRotation } from '#verify/checks/endpoint-rotation';
import { HAS_CURSOR } from '#verify/checks/events.sql';
import { Findings, type VerifyReport } from '#verify/checks/findings';
import { NEXT_DRAWS } from '#verify/checks/lottery.sql';
import * as sql from '#verify/checks/pools.sql';
import { NEXT_POOLS as NEXT_POSITIONS } from '#verify/checks/positions.sql';
import { KeyBatchSize } from './batches';
import type { Progress } from './progress';

export interface Options {
  databaseUrl: string;
  /** Undefined: do not compare with the chain. */
  endpoints?: EndpointRotation;
  repair: boolean;
  /** Number of differences to list. */
  limit: number;
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** Statement timeout, enough for a pool or address with millions of transactions. */
const STATEMENT_TIMEOUT_MS = 300_000;
/** Pools that changed meanwhile are counted again, until so few are left that one statement can count them. */
const FEW_CHANGED_POOLS = 2000;
const MAX_ROUNDS = 5;
/** Number of pools, with all their accounts, that are compared with the chain at once. */
const MOST_CHAIN_POOLS = 200;

/** Deposits and cancelled pools that are told of in one run. */
const MOST_UNPAID = 10_000;

/** The run was stopped before its end. */
class Stopped extends Error {}

/** Compares all derived data with the ledger, and the ledger with the chain. */
export class Verification {
  private readonly findings: Findings;
  private client: Client;

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
      this.client = await connect(databaseUrl, true, STATEMENT_TIMEOUT_MS);
      try {
        await this.prepare(repair);
        await this.compare();
      } finally {
        await this.client.end().catch(() => undefined);
      }
    } catch (error) {
      this.findings.skip((error as Error).message);
    }
    this.progress.end();
    return this.findings.report();
  }

  private async prepare(repair: boolean): Promise<void> {
    await this.client.query(sql.CREATE_MEMORY);
    if (repair) await lockRepair(this.client);
    else await this.client.query('SET default_transaction_read_only = on');
  }

  private async compare(): Promise<void> {
    const { rows } = await this.client.query<{ hasCursor: boolean }>(HAS_CURSOR);
    const [{ hasCursor }] = rows;
    const mode = { repair: this.options.repair, remember: true, hasEvents: hasCursor };
    const derived = new DerivedComparison(this.client, this.findings, mode);
    if (hasCursor) {
      await this.events(derived);
      await this.draws(derived);
      await derived.counts();
    }
    await this.pools(derived);
    await derived.unpaid(MOST_UNPAID);
    if (hasCursor) await this.positions(derived);
    await this.addresses(derived);
    if (this.options.endpoints && hasCursor) await this.chain(this.options.endpoints);
    else if (this.options.endpoints) this.findings.skip('no chain has been read yet');
  }

  private async events(derived: DerivedComparison): Promise<void> {
    this.progress.begin('events');
    const total = await this.estimate('chain_events');
    const size = new KeyBatchSize(1000);
    let at: { contract: string; seq: string } | undefined = { contract: '', seq: '0' };
    for (let done = 0; at;) {
      this.throwIfStopped();
      const from: { contract: string; seq: string } = at;
      at = await size.timed(() => derived.events(from, size.keys));
      done += size.keys;
      this.progress.advance(size.keys, done / total);
    }
  }

  private async draws(derived: DerivedComparison): Promise<void> {
    this.progress.begin('draws');
    const size = new KeyBatchSize(1);
    for (let after: DrawKey = { contract: '', drawId: '-1' }; ;) {
      this.throwIfStopped();
      const values = [after.contract, after.drawId, size.keys];
      const { rows } = await this.client.query<DrawKey>(NEXT_DRAWS, values);
      if (rows.length === 0) return;
      await size.timed(() => derived.draws(rows));
      after = rows.at(-1)!;
    }
  }

  /** All pools, and then their totals. */
  private async pools(derived: DerivedComparison): Promise<void> {
    this.progress.begin('pools');
    let floor = await this.floor();
    await this.everyPool(new KeyBatchSize(), (ids) => derived.pools(ids));
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      const next = await this.floor();
      const changed = await this.everyKey(
        new KeyBatchSize(),
        (after, limit) => this.keys(sql.CHANGED_POOLS, floor, after, limit),
        (ids) => this.client.query(sql.REMEMBER_POOLS, [ids]),
      );
      floor = next;
      if (changed < FEW_CHANGED_POOLS) break;
    }
    await this.client.query('ANALYZE verified_pools');
    await derived.totals(floor);
  }

  private async positions(derived: DerivedComparison): Promise<void> {
    this.progress.begin('positions');
    await this.everyPool(new KeyBatchSize(), (ids) => derived.positions(ids), NEXT_POSITIONS);
    await derived.formerOfNone();
  }

  private async addresses(derived: DerivedComparison): Promise<void> {
    this.progress.begin('addresses');
    await this.everyKey(
      new KeyBatchSize(),
      (after, limit) => this.keys(NEXT_ADDRESSES, after === FIRST_ID ? '' : after, limit),
      async (addresses) => {
        await derived.addresses(addresses);
        // Addresses are spread evenly, so the first digits show the progress.
        this.progress.advance(addresses.length, Number(addresses.at(-1)!.slice(0, 10)) / 2 ** 32);
      },
    );
  }

  private async chain(endpoints: EndpointRotation): Promise<void> {
    this.progress.begin('chain');
    const chain = new ChainComparison(this.client, endpoints, this.findings, this.signal);
    try {
      await chain.counts(await this.keys(CONTRACTS));
      await this.everyPool(new KeyBatchSize(10, MOST_CHAIN_POOLS), (ids) => chain.pools(ids));
    } catch (error) {
      if (error instanceof Stopped) throw error;
      this.findings.skip(`chain: ${(error as Error).message}`);
    }
  }

  private async everyPool(
    size: KeyBatchSize,
    work: (ids: string[]) => Promise<unknown>,
    next: string = sql.NEXT_POOLS,
  ): Promise<void> {
    const { rows } = await this.client.query<{ pools: string }>('SELECT count(*) AS pools FROM pools');
    let done = 0;
    await this.everyKey(
      size,
      (after, limit) => this.keys(next, after, limit),
      async (ids) => {
        await work(ids);
        done += ids.length;
        this.progress.advance(ids.length, done / Number(rows[0].pools));
      },
    );
  }

  /** @returns the number of keys */
  private async everyKey(
    size: KeyBatchSize,
    next: (after: string, limit: number) => Promise<string[]>,
    work: (keys: string[]) => Promise<unknown>,
  ): Promise<number> {
    let after = FIRST_ID;
    for (let count = 0; ;) {
      this.throwIfStopped();
      const keys = await next(after, size.keys);
      if (keys.length === 0) return count;
      await size.timed(() => work(keys));
      count += keys.length;
      after = keys.at(-1)!;
    }
  }

  private async keys(text: string, ...values: unknown[]): Promise<string[]> {
    const { rows } = await this.client.query<Record<string, string>>(text, values);
    return rows.map((row) => Object.values(row)[0]);
  }

  private async floor(): Promise<string> {
    return (await this.keys(sql.SNAPSHOT_FLOOR))[0];
  }

  /** The planner's estimate of the number of rows. */
  private async estimate(table: string): Promise<number> {
    const text = 'SELECT greatest(reltuples, 1)::text FROM pg_class WHERE oid = $1::regclass';
    return Number((await this.keys(text, table))[0]);
  }

  private throwIfStopped(): void {
    if (this.signal.aborted) throw new Stopped('stopped before the end');
  }
}
