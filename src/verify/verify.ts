import type { Client } from 'pg';
import { BlockComparison } from '#verify/blocks/blocks';
import { NodeComparison } from '#verify/blocks/node';
import { type AskedChain, ChainComparison } from '#verify/checks/chain';
import { CONTRACTS } from '#verify/checks/chain.sql';
import { type Value, connect, lockRepair } from '#verify/checks/connection';
import { NEXT_ADDRESSES } from '#verify/checks/days.sql';
import type { DerivedComparison, DrawKey } from '#verify/checks/derived';
import { HAS_CURSOR } from '#verify/checks/events.sql';
import { Findings, type VerifyReport } from '#verify/checks/findings';
import { NEXT_DRAWS } from '#verify/checks/lottery.sql';
import * as sql from '#verify/checks/pools.sql';
import { NEXT_POOLS as NEXT_POSITIONS } from '#verify/checks/positions.sql';
import { tellCompleteness } from '#verify/checks/completeness';
import { BalanceComparison } from '#verify/shares/balances';
import { ShareComparison } from '#verify/shares/shares';
import { ToldComparison } from '#verify/told/told';
import { KeyBatchSize } from '#verify/checks/walk';
import { Stopped, Walk } from '#verify/checks/walk';
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
/** Pools that changed meanwhile are counted again, until so few are left that one statement can count them. */
const FEW_CHANGED_POOLS = 2000;
const MAX_ROUNDS = 5;
/** Number of pools that are compared with the chain at once. */
const MOST_CHAIN_POOLS = 200;
/** Number of events that are compared with the chain at once. */
const MOST_CHAIN_EVENTS = 500;

/** Deposits and cancelled pools that are told of in one run. */
const MOST_UNPAID = 10_000;

/** Compares all derived data with the ledger, and the ledger with the chain. */
export class Verification {
  private readonly findings: Findings;
  private client: Client;
  private walk: Walk;

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
      this.walk = new Walk(this.client, this.signal);
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
    const derived = new ShareComparison(this.client, this.findings, mode);
    if (hasCursor) {
      await this.events(derived);
      await this.blocks();
      await this.told();
      await this.draws(derived);
      this.progress.begin('shares');
      await derived.everyHolding(this.walk, (accounts) => this.progress.advance(accounts, 0));
      await derived.shareTotals();
      await derived.counts();
      await derived.names();
    }
    await this.pools(derived);
    await derived.unpaid(MOST_UNPAID);
    if (hasCursor) await this.positions(derived);
    await this.addresses(derived);
    if (this.options.endpoints && hasCursor) await this.chain(this.options.endpoints);
    else if (this.options.endpoints) this.findings.skip('no chain has been read yet');
  }

  private async events(derived: DerivedComparison): Promise<void> {
    const start = { contract: '', seq: '0' };
    await this.everyEvent('events', new KeyBatchSize(1000), start, (after, limit) =>
      derived.events(after, limit),
    );
  }

  private async everyEvent<Place>(
    phase: string,
    size: KeyBatchSize,
    first: Place,
    next: (after: Place, limit: number) => Promise<Place | undefined>,
  ): Promise<void> {
    this.progress.begin(phase);
    const total = await this.walk.estimate('chain_events');
    let done = 0;
    await this.walk.everyPlace(size, first, async (after, limit) => {
      const last = await next(after, limit);
      done += limit;
      this.progress.advance(limit, done / total);
      return last;
    });
  }

  /** The blocks and events that were read, with those that the node has now, if there is one. */
  private async blocks(): Promise<void> {
    const blocks = new BlockComparison(this.client, this.findings, this.options);
    const { endpoints } = this.options;
    let told: Value[] = [];
    if (endpoints)
      await this.asking(async () => {
        const node = new NodeComparison(this.client, endpoints, this.findings, this.signal);
        told = await node.blocks();
        const size = new KeyBatchSize(50, MOST_CHAIN_EVENTS);
        await this.everyEvent('events on the chain', size, { block: '-1', index: '-1' }, (after, limit) =>
          node.events(after, limit),
        );
      });
    await blocks.compare(told);
  }

  /** What was told of the events. */
  private async told(): Promise<void> {
    this.progress.begin('what was told');
    await new ToldComparison(this.client, this.findings, this.options).compare(this.walk, (rows) =>
      this.progress.advance(rows, 0),
    );
  }

  private async draws(derived: DerivedComparison): Promise<void> {
    this.progress.begin('draws');
    const first: DrawKey = { contract: '', drawId: '-1' };
    await this.walk.everyPlace(new KeyBatchSize(1), first, async ({ contract, drawId }, limit) => {
      const { rows } = await this.client.query<DrawKey>(NEXT_DRAWS, [contract, drawId, limit]);
      if (rows.length > 0) await derived.draws(rows);
      return rows.at(-1);
    });
  }

  /** All pools, and then their totals. */
  private async pools(derived: DerivedComparison): Promise<void> {
    this.progress.begin('pools');
    let floor = await this.floor();
    await this.everyPool(new KeyBatchSize(), (ids) => derived.pools(ids));
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      const next = await this.floor();
      const changed = await this.walk.everyKey(
        new KeyBatchSize(),
        (after, limit) => this.walk.keys(sql.CHANGED_POOLS, floor, after, limit),
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
    await this.walk.everyKey(
      new KeyBatchSize(),
      (after, limit) => this.walk.keys(NEXT_ADDRESSES, after, limit),
      async (addresses) => {
        await derived.addresses(addresses);
        // Addresses are spread evenly, so the first digits show the progress.
        this.progress.advance(addresses.length, Number(addresses.at(-1)!.slice(0, 10)) / 2 ** 32);
      },
      '',
    );
  }

  private async chain(endpoints: AskedChain): Promise<void> {
    this.progress.begin('chain');
    const chain = new ChainComparison(this.client, endpoints, this.findings, this.signal);
    await this.asking(async () => {
      const contracts = await this.walk.keys(CONTRACTS);
      await chain.counts(contracts);
      await tellCompleteness(this.client, this.findings, contracts, chain.unnumbered);
      await this.everyPool(new KeyBatchSize(10, MOST_CHAIN_POOLS), (ids) => chain.pools(ids));
      await new BalanceComparison(this.client, endpoints, this.findings, this.signal).everyBalance(this.walk);
    });
  }

  /** What a node cannot tell is left out, and said. */
  private async asking(work: () => Promise<void>): Promise<void> {
    try {
      await work();
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
    await this.walk.everyKey(
      size,
      (after, limit) => this.walk.keys(next, after, limit),
      async (ids) => {
        await work(ids);
        done += ids.length;
        this.progress.advance(ids.length, done / Number(rows[0].pools));
      },
    );
  }

  private async floor(): Promise<string> {
    return (await this.walk.keys(sql.SNAPSHOT_FLOOR))[0];
  }
}
