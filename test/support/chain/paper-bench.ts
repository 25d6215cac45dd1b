import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { POOL_TYPES, TYPE_WITH_DRAWS } from '#values/types';
import { NestLogger } from '#platform/log/nest-logger';
import { RewindModule } from '#indexer/indexer.module';
import { createIndexer } from '#indexer/indexer.setup';
import { Indexer } from '#indexer/leading/indexer.service';
import { SyncState } from '#indexer/reporting/sync-state';
import type { ChainEvent } from '#indexer/reading/decode';
import { indexerSettings, until } from '../app';
import { nodeOf } from './chain-node';
import {
  GENESIS,
  LOTTERY,
  POOLS_CONTRACT,
  type PaperBlock,
  PaperChain,
  SAVER,
  Written,
  compact,
} from './paper-chain';
import { RpcNode } from './rpc-node';
import { rewind } from '../verify/operators';

type Sketches = NonNullable<Parameters<PaperChain['add']>[0]>;
type Payment = Partial<Pick<ChainEvent, 'kind' | 'ref' | 'account'>>;

/** The indexer's own is 500 ms. */
const POLL_MS = 100;

/** Indexers in this process, on a chain of paper behind nodes with faults. */
export class PaperBench {
  chain: PaperChain;
  written: Written;
  readonly nodes: RpcNode[] = [];
  readonly pools: string[] = [];
  /** Contracts beside the usual ones, as POOL_CONTRACTS names them. */
  further: string[] = [];
  /** What all indexers have logged. */
  output = '';
  private readonly logger = pino({ level: 'info' }, { write: (line) => (this.output += line) });
  private readonly deposits = new Map<string, Parameters<Written['addPool']>[1]>();
  private readonly running: NestFastifyApplication[] = [];
  private salt = 0;

  constructor(private readonly endpoints: number) {}

  async start(): Promise<void> {
    this.chain = new PaperChain();
    while (this.nodes.length < this.endpoints) this.nodes.push(await RpcNode.start(nodeOf(() => this.chain)));
    await this.startAfresh();
    while (this.pools.length < 3) await this.addPool();
  }

  async stop(): Promise<void> {
    await this.end();
    await this.written?.stop();
    for (const node of this.nodes) await node.stop();
  }

  /** Another database with the same pools, as if nothing had been read yet. */
  async startAfresh(): Promise<void> {
    await this.written?.stop();
    this.written = await this.ledger();
    // The first indexer makes the cursor.
    await this.sql('DELETE FROM chain_cursor; DELETE FROM chain_blocks');
  }

  private async ledger(): Promise<Written> {
    const written = await new Written().start(this.chain);
    for (const [pool, deposits] of this.deposits) await written.addPool(pool, deposits);
    return written;
  }

  get node(): RpcNode {
    return this.nodes[0];
  }

  get databaseUrl(): string {
    return this.written.databaseUrl;
  }

  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]> {
    return this.written.sql<Row>(text, values);
  }

  /** @param amounts of deposits that are announced @returns the ids of the pool and of the deposits */
  async addPool(...amounts: bigint[]): Promise<[pool: string, ...deposits: string[]]> {
    const pool = randomUUID();
    const deposits = amounts.map((amount) => ({ id: randomUUID(), amount: `${amount}`, at: GENESIS }));
    this.pools.push(pool);
    this.deposits.set(pool, deposits);
    await this.written.addPool(pool, deposits);
    return [pool, ...deposits.map(({ id }) => id)];
  }

  add(...sketches: Sketches): PaperBlock {
    return this.chain.add(sketches, 1, this.salt);
  }

  /** @returns the last block */
  mine(blocks: number): PaperBlock {
    for (let i = 0; i < blocks; i += 1) this.add();
    return this.chain.head;
  }

  deposit(pool: string, amount: number, fields: Payment = {}): PaperBlock {
    const { ref, ...rest } = fields;
    const payment = { kind: 'Deposited' as const, poolId: compact(pool), account: SAVER, ...rest };
    return this.add({ ...payment, amount: `${amount}`, ref: ref ? compact(ref) : null });
  }

  openDraw(drawId = '1', contract = LOTTERY): PaperBlock {
    return this.add({ kind: 'DrawOpened', contract, drawId, amount: '5', drawTime: GENESIS + 1_000_000 });
  }

  buyTickets(drawId = '1', contract = LOTTERY): PaperBlock {
    return this.add({ kind: 'TicketsIssued', contract, drawId, account: SAVER, amount: '1' });
  }

  /** The last blocks are gone; those that are added from now on are others. */
  rollback(depth: number): void {
    this.chain = this.chain.fork(this.chain.head.number - depth);
    this.salt += 1;
  }

  /** Others are in place of the last blocks, without events. */
  reorg(depth: number): void {
    this.rollback(depth);
    this.mine(depth);
  }

  settings(): { RPC_URL: string; POOL_CONTRACTS: string } {
    const usual = POOL_TYPES.map((type) => `${type}=${type === TYPE_WITH_DRAWS ? LOTTERY : POOLS_CONTRACT}`);
    return {
      RPC_URL: this.nodes.map(({ url }) => url).join(),
      POOL_CONTRACTS: [...usual, ...this.further].join(),
    };
  }

  /** Starts an indexer. The first one leads. */
  async indexer(settings: NodeJS.ProcessEnv = {}): Promise<NestFastifyApplication> {
    const environment = indexerSettings(this.databaseUrl, { ...this.settings(), ...settings });
    const app = await createIndexer(environment, this.logger);
    this.running.push(app);
    return app;
  }

  /** Why an indexer that is started now refuses to follow the chain. */
  async refusal(settings?: NodeJS.ProcessEnv): Promise<string> {
    const app = await this.indexer(settings);
    return app.get(Indexer).ended.then(
      () => 'none',
      ({ message }: Error) => message,
    );
  }

  /** Takes blocks back as the operator's command does. @returns how many events were undone */
  async rewind(to?: number, contract?: string, settings: NodeJS.ProcessEnv = {}): Promise<number> {
    const environment = indexerSettings(this.databaseUrl, { ...this.settings(), ...settings });
    return rewind(RewindModule.register(environment), to, contract, new NestLogger(this.logger));
  }

  /** Ends all indexers. */
  async end(): Promise<void> {
    for (const app of this.running.splice(0)) await app.close();
  }

  /** Ends all faults. */
  heal(): void {
    for (const node of this.nodes) {
      node.faults = {};
      node.tags = {};
      node.target = nodeOf(() => this.chain);
    }
  }

  until = until;

  /** Waits until the log says so from now on, or has said so since `mark`. */
  async said(text: string | RegExp, times = 1, mark = this.output.length): Promise<void> {
    await until(() => this.output.slice(mark).split(text).length > times);
  }

  async cursor(): Promise<{ number: number; hash: string; state: string } | undefined> {
    const [row] = await this.sql<{ number: string; hash: string; state: string }>(
      'SELECT block_number AS number, block_hash AS hash, state FROM chain_cursor',
    );
    return row && { ...row, number: Number(row.number) };
  }

  /** Waits until the cursor is at the head. */
  async atHead(): Promise<void> {
    await until(async () => (await this.cursor())?.hash === this.chain.head.hash);
  }

  /** Waits until the ledger has all events of the chain, and no others, and no contract is apart. */
  async converged(): Promise<void> {
    await this.atHead();
    const wanted = this.chain.blocks
      .flatMap(({ events }) => events)
      .map(({ txHash, seq }) => [txHash, seq].join(' '));
    await until(async () => {
      const rows = await this.sql<{ event: string }>(
        `SELECT concat_ws(' ', tx_hash, seq) AS event FROM chain_events ORDER BY block_number, log_index`,
      );
      return (
        JSON.stringify(rows.map(({ event }) => event)) === JSON.stringify(wanted) &&
        (await this.sql('SELECT FROM chain_contracts_apart')).length === 0
      );
    });
  }

  /** Starts an indexer, and waits until the ledger has converged. */
  async converging(settings?: NodeJS.ProcessEnv): Promise<NestFastifyApplication> {
    const app = await this.indexer(settings);
    await this.converged();
    return app;
  }

  /** Ends all faults, and waits until the ledger has converged. */
  async recovered(): Promise<void> {
    this.heal();
    await this.converged();
  }

  /** Expects the ledger to be what it is where the whole chain was applied at once. */
  async sameAsAtOnce(): Promise<void> {
    const whole = await this.ledger();
    try {
      await whole.apply(this.chain);
      expect(await this.written.state()).toEqual(await whole.state());
    } finally {
      await whole.stop();
    }
  }

  /** Numbers of the blocks whose events are taken back while `work` is done. */
  async undoneDuring(work: () => Promise<unknown>): Promise<number[]> {
    await this.sql('CREATE TABLE undone AS SELECT block_number FROM chain_events WHERE false');
    await this.sql(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
      INSERT INTO undone VALUES (old.block_number); RETURN old; END $$`);
    await this.sql('CREATE TRIGGER note BEFORE DELETE ON chain_events FOR EACH ROW EXECUTE FUNCTION note()');
    await work();
    const rows = await this.sql<{ block: number }>(
      'SELECT block_number::int AS block FROM undone ORDER BY 1',
    );
    await this.sql('DROP FUNCTION note CASCADE');
    await this.sql('DROP TABLE undone');
    return rows.map(({ block }) => block);
  }
}

/** A bench for the tests of a describe block. After each, its faults and its indexers end. */
export function usePaper(endpoints = 1): PaperBench {
  const bench = new PaperBench(endpoints);
  beforeAll(() => bench.start());
  // At the head it asks for new blocks that often.
  beforeEach(() => void jest.spyOn(SyncState.prototype, 'waitForNext').mockReturnValue(POLL_MS));
  afterEach(async () => {
    jest.restoreAllMocks();
    bench.heal();
    await bench.end();
  });
  afterAll(() => bench.stop());
  return bench;
}
