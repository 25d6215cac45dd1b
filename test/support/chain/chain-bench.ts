import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Client, QueryResultRow } from 'pg';
import { v7 as newId } from 'uuid';
import { type Address, parseEther } from 'viem';
import type { Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pino from 'pino';
import { bytes16 } from '#values/bytes16';
import type { PoolType } from '#values/types';
import { createIndexer } from '#indexer/indexer.setup';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import {
  type Deployment,
  type DevClient,
  anvilRpc,
  artifacts,
  connect,
  deploy,
  deployContracts,
  devAccount,
  execute,
  fund,
  read,
} from '#dev/deploy';
import { type SignedIn, TestApp, indexerSettings } from '../app';
import { type TestDatabase, connectTo, freshDatabase, urlAs } from '../database';
import { ownership } from '../ledger';
import { Child } from '../processes/processes';
import { verifyChain } from '../verify/verify-scene';
import type { Wallet } from '../wallet';
import { RpcNode } from './rpc-node';

const ENTRY = path.join(__dirname, '../../../dist/src/indexer.js');
/** Longest wait for anything, in ms; a slow machine must not decide. */
const DEADLINE = 110_000;

const NONE = `0x${'0'.repeat(32)}`;
const STATE = [
  `SELECT block_number, log_index, tx_hash, contract, seq, kind, pool_id, pool_name, account, amount, fee, remaining, shares, outcome
   FROM chain_events ORDER BY block_number, log_index`,
  `SELECT pool_id, type, account, amount, tx_hash, block_number, log_index FROM transactions WHERE status = 'CONFIRMED'
   ORDER BY block_number, log_index`,
  'SELECT id, balance - pending_balance AS balance, total_yield, claimed_yield, apr_bps FROM pools ORDER BY id',
  ...[
    'positions ORDER BY pool_id, address',
    'share_holdings ORDER BY vault, account',
    'share_totals ORDER BY vault',
  ],
  ...['pool_names ORDER BY contract, name', 'circles ORDER BY contract, circle_id'],
  ...['circle_members', 'circle_rounds'].map((table) => `${table} t ORDER BY t::text`),
  ...['lottery_draws ORDER BY contract, draw_id', 'lottery_tickets ORDER BY contract, draw_id, account'],
].map((text) => (text.includes('SELECT') ? text : `SELECT * FROM ${text}`));

/** Asks until it is so. @throws with the last answer when the deadline passes */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
  deadline = DEADLINE,
): Promise<T> {
  const end = Date.now() + deadline;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (Date.now() > end) throw new Error(`${what} did not come about: ${inspect(answer)}`);
    await sleep(50);
  }
}

/** Runs a program as a separate process, so that signals are real. */
export class IndexerProcess extends Child {
  /** @param args of Node */
  constructor(args: string[], env: NodeJS.ProcessEnv) {
    super();
    const stdio: ('ignore' | 'pipe')[] = ['ignore', 'pipe', 'pipe'];
    this.adopt(spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...env }, stdio }));
  }

  get code(): number | null {
    return this.process!.exitCode;
  }

  override end(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    if (this.running) this.signal('SIGCONT');
    return super.end(signal);
  }
}

/** A chain with the reference contracts, a provider with faults, a database with pools, and indexers between. */
export class ChainBench {
  anvil: AnvilNode;
  /** Of each endpoint one; all lead to the same node. */
  proxies: RpcNode[] = [];
  deployment: Deployment;
  database: TestDatabase;
  db: Client;
  owner: DevClient;
  saver: DevClient;
  other: DevClient;
  pools: string[] = [];
  /** Followed beside those of the deployment. */
  readonly further: [type: string, address: Address][] = [];
  private readonly processes: IndexerProcess[] = [];
  private follower?: NestFastifyApplication;

  constructor(private readonly endpoints = 1) {}

  get proxy(): RpcNode {
    return this.proxies[0];
  }

  async start(database?: TestDatabase): Promise<this> {
    this.anvil = await startAnvil();
    this.deployment = await deployContracts(this.anvil.url, { minimumDeposit: 1n });
    [this.owner, this.saver, this.other] = (await Promise.all(
      [0, 1, 2].map((i) => connect(this.anvil.url, devAccount(i))),
    )) as [DevClient, DevClient, DevClient];
    for (const client of [this.owner, this.saver, this.other])
      for (const contract of [this.deployment.contracts.cooperative, this.deployment.contracts.lottery])
        await fund(client, this.deployment.token, contract, parseEther('1000000'));
    while (this.proxies.length < this.endpoints) this.proxies.push(await RpcNode.start(this.anvil.url));
    await this.useDatabase(database ?? (await freshDatabase()));
    return this;
  }

  async useDatabase(database: TestDatabase): Promise<void> {
    await this.db?.end();
    this.database = database;
    this.db = await connectTo(database.url);
    this.db.on('error', () => undefined);
    await this.sql(`INSERT INTO users VALUES (gen_random_uuid(), $1, now())`, [this.address]);
    for (const id of this.pools) await this.insertPool(id);
    while (this.pools.length < 3) await this.addPool();
  }

  async stop(): Promise<void> {
    await this.leave();
    for (const each of this.processes) await each.end();
    await this.db?.end().catch(() => undefined);
    await this.database?.drop();
    for (const proxy of this.proxies) await proxy.stop();
    await this.anvil?.stop();
  }

  get address(): string {
    return this.saver.account.address.toLowerCase();
  }

  async sql<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return (await this.db.query<Row>(text, values)).rows;
  }

  async addPool(id: string = randomUUID()): Promise<string> {
    this.pools.push(id);
    await this.insertPool(id);
    return id;
  }

  async insertPool(
    id: string,
    contract = this.deployment.contracts.cooperative,
    type: PoolType = 'cooperative',
    owner = this.address,
  ): Promise<void> {
    await this.sql(
      `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
       SELECT $1, $2, id, $3, now(), now() FROM users WHERE address = $4`,
      [id, type, contract, owner],
    );
    await this.sql(`INSERT INTO pool_members VALUES ($1, $2, 'OWNER', $3)`, [id, owner, type]);
  }

  /** A deposit as the API announces it. @returns its id, the reference for the chain */
  async pending(pool: string, amount: bigint, age = 0, account = this.address): Promise<string> {
    const id = newId({ msecs: Date.now() - age * 1000 });
    await this.sql(
      `INSERT INTO transactions (id, pool_id, type, status, account, amount, requested_amount, created_at,
         owner_id, by_owner)
       VALUES ($1, $2, 'DEPOSIT', 'PENDING', $3, $4, $4, now() - make_interval(secs => $5), ${ownership('$2', '$3::address')})`,
      [id, pool, account, amount.toString(), age],
    );
    return id;
  }

  call(client: DevClient, name: string, args: unknown[]): ReturnType<typeof execute> {
    return execute(client, 'SavingsPool', this.deployment.contracts.cooperative, name, args);
  }

  deposit(pool: string, amount: bigint, ref?: string, client = this.saver): ReturnType<typeof execute> {
    return this.call(client, 'deposit', [bytes16(pool), ref ? bytes16(ref) : NONE, amount]);
  }

  withdraw(pool: string, amount: bigint, client = this.saver): ReturnType<typeof execute> {
    return this.call(client, 'withdraw', [bytes16(pool), NONE, amount]);
  }

  lottery(
    client: DevClient,
    name: string,
    args: unknown[],
    contract = this.deployment.contracts.lottery,
  ): ReturnType<typeof execute> {
    return execute(client, 'LotteryPool', contract, name, args);
  }

  currentDraw(contract = this.deployment.contracts.lottery): Promise<bigint> {
    return read<bigint>(this.owner, 'LotteryPool', contract, 'currentDraw');
  }

  /** Another lottery contract beside the first; indexers that start from now on follow it. */
  async addLottery(): Promise<Address> {
    const args = [this.deployment.token, this.owner.account.address, 1n];
    const { address } = await deploy(this.owner, artifacts.LotteryPool, args);
    for (const client of [this.owner, this.saver, this.other])
      await fund(client, this.deployment.token, address, parseEther('1000000'));
    this.further.push(['lottery', address]);
    return address;
  }

  rpc(method: string, ...params: unknown[]): Promise<unknown> {
    return anvilRpc(this.owner, method, ...params);
  }

  mine(blocks: number): Promise<unknown> {
    return this.rpc('anvil_mine', `0x${blocks.toString(16)}`);
  }

  /** Mines without a pause until it is done: there is always a block to read. */
  async whileBusy<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const mining = (async () => {
      while (!isDone) await this.mine(1);
    })();
    return work.finally(async () => {
      isDone = true;
      await mining;
    });
  }

  /**
   * Starts an indexer in this process.
   * @param modules adapters beside the service's own
   */
  async follow(settings: NodeJS.ProcessEnv = {}, modules: Type[] = []): Promise<NestFastifyApplication> {
    const environment = indexerSettings(this.database.url, { ...this.settings(), ...settings });
    return (this.follower = await createIndexer(environment, pino({ level: 'silent' }), { modules }));
  }

  /** Ends it. */
  async leave(): Promise<void> {
    await this.follower?.close();
    this.follower = undefined;
  }

  /** @param entry the program if it is another, with what Node needs before its name */
  indexer(settings: NodeJS.ProcessEnv = {}, args: string[] = [], ...entry: string[]): IndexerProcess {
    const started = new IndexerProcess([...(entry.length > 0 ? entry : [ENTRY]), ...args], {
      NODE_ENV: 'test',
      // A command is an operator's.
      DATABASE_URL: urlAs(this.database.url, args.length > 0 ? 'operator' : 'indexer'),
      ...this.settings(),
      INDEXER_PORT: '0',
      HOST: '127.0.0.1',
      ...settings,
    });
    this.processes.push(started);
    return started;
  }

  /** By which a process finds the chain. */
  settings(): { RPC_URL: string; POOL_CONTRACTS: string } {
    const named = [...Object.entries(this.deployment.contracts), ...this.further];
    const contracts = named.map((pair) => pair.join('='));
    return { RPC_URL: this.proxies.map(({ url }) => url).join(','), POOL_CONTRACTS: contracts.join(',') };
  }

  async cursor(): Promise<{ number: number; hash: string; state: string; stale: boolean } | undefined> {
    const [row] = await this.sql<{ number: string; hash: string; state: string; stale: boolean }>(
      `SELECT block_number AS number, block_hash AS hash, state, beat_at < now() - interval '5 seconds' AS stale
       FROM chain_cursor`,
    );
    return row && { ...row, number: Number(row.number) };
  }

  /** Waits until the database stands at the chain's head, which is this block or a later one. */
  async atHead(block = 0n): Promise<void> {
    await eventually(
      'the head',
      async () => [await this.cursor().catch(() => undefined), await this.owner.getBlock()] as const,
      ([cursor, head]) => head.number >= block && cursor?.hash === head.hash,
    );
  }

  /** The same, and until no contract is apart, and nothing differs from the events, nor from what the node itself says. */
  async converged(): Promise<void> {
    await this.atHead();
    const differences = async (): Promise<unknown[]> => {
      const apart = await this.sql('SELECT address, state, reason FROM chain_contracts_apart');
      const url = urlAs(this.database.url, 'operator');
      const { listed, notChecked } = await verifyChain(url, this.anvil.url);
      return [...apart, ...listed, ...notChecked.filter((why) => !why.includes('nothing proves'))];
    };
    await eventually('no difference', differences, ({ length }) => length === 0);
  }

  /** Runs the command, and returns its output. @throws Error with it when the command fails */
  async rewind(to: number, settings?: NodeJS.ProcessEnv, contract?: Address): Promise<string> {
    const of = contract ? ['--contract', contract] : [];
    const run = this.indexer(settings, ['rewind', ...of, '--to', `${to}`]);
    await run.ended;
    if (run.code !== 0) throw new Error(`rewind --to ${to} failed:\n${run.output}`);
    return run.output;
  }

  /** Another database with the same pools, as if nothing had been read yet. */
  async startAfresh(): Promise<void> {
    const before = this.database;
    await this.useDatabase(await freshDatabase());
    await before.drop();
  }

  /** What the chain decides, in a form that two databases can be compared by. */
  async state(): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const text of STATE) found.push(await this.sql(text));
    return found;
  }
}

/** A bench for the tests of a describe block. */
export function useChain(endpoints = 1): ChainBench {
  const bench = new ChainBench(endpoints);
  beforeAll(() => bench.start());
  afterAll(() => bench.stop());
  return bench;
}

/**
 * A service, and a chain whose indexers write its database.
 * @param prepare deploys what is followed beside the reference contracts
 */
export function useService(prepare: (bench: ChainBench) => unknown = () => undefined) {
  const [bench, app] = [new ChainBench(), new TestApp()];
  beforeAll(() =>
    app.start({}, undefined, async (database) => {
      await bench.start(database);
      await prepare(bench);
      return bench.settings();
    }),
  );
  afterAll(async () => {
    await bench.stop();
    await app.stop();
  });
  const signIn = (account: number): Promise<SignedIn> => app.signIn(devAccount(account) as unknown as Wallet);
  return { bench, app, signIn };
}
