import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import { v7 as newId } from 'uuid';
import { type Address, parseEther, parseEventLogs } from 'viem';
import { bytes16 } from '#values/bytes16';
import { contractAbi } from '#ledger/chain/contract.abi';
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
import { type TestDatabase, freshDatabase, urlAs } from '../database';
import { RpcNode } from './rpc-node';

const ENTRY = path.join(__dirname, '../../../dist/src/indexer.js');
/** Longest wait for anything, in ms; a slow machine must not decide. */
const DEADLINE = 110_000;

const NONE = `0x${'0'.repeat(32)}`;

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

/** An indexer as a process of its own, so that signals are real. */
export class IndexerProcess {
  output = '';
  readonly ended: Promise<unknown>;

  constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output = (this.output + chunk.toString()).slice(-50_000)));
    // Not at the exit: then some of its output is still to be read.
    this.ended = once(child, 'close');
    const kill = (): boolean => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
  }

  get pid(): number {
    return this.child.pid!;
  }

  get code(): number | null {
    return this.child.exitCode;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGCONT');
      this.child.kill(signal);
    }
    await this.ended;
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
    while (this.proxies.length < this.endpoints) this.proxies.push(await new RpcNode(this.anvil.url).start());
    await this.useDatabase(database ?? (await freshDatabase()));
    return this;
  }

  async useDatabase(database: TestDatabase): Promise<void> {
    await this.db?.end();
    this.database = database;
    this.db = new Client({ connectionString: database.url });
    this.db.on('error', () => undefined);
    await this.db.connect();
    await this.sql(`INSERT INTO users VALUES (gen_random_uuid(), $1, now())`, [this.address]);
    for (const id of this.pools) await this.insertPool(id);
    while (this.pools.length < 3) await this.addPool();
  }

  async stop(): Promise<void> {
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

  private async insertPool(id: string): Promise<void> {
    await this.sql(
      `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
       SELECT $1, 'cooperative', id, $2, now(), now() FROM users WHERE address = $3`,
      [id, this.deployment.contracts.cooperative, this.address],
    );
    await this.sql(`INSERT INTO pool_members VALUES ($1, $2, 'OWNER', 'cooperative')`, [id, this.address]);
  }

  /** A deposit as the API announces it. @returns its id, the reference for the chain */
  async pending(pool: string, amount: bigint, age = 0): Promise<string> {
    const id = newId({ msecs: Date.now() - age * 1000 });
    await this.sql(
      `INSERT INTO transactions (id, pool_id, type, status, account, amount, requested_amount, created_at)
       VALUES ($1, $2, 'DEPOSIT', 'PENDING', $3, $4, $4, now() - make_interval(secs => $5))`,
      [id, pool, this.address, amount.toString(), age],
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

  /** @param entry the program if it is another, with what Node needs before its name */
  indexer(settings: NodeJS.ProcessEnv = {}, args: string[] = [], ...entry: string[]): IndexerProcess {
    const child = spawn(process.execPath, [...(entry.length > 0 ? entry : [ENTRY]), ...args], {
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'test',
        // A command is an operator's.
        DATABASE_URL: urlAs(this.database.url, args.length > 0 ? 'operator' : 'indexer'),
        ...this.settings(),
        INDEXER_PORT: '0',
        HOST: '127.0.0.1',
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = new IndexerProcess(child);
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

  /** The same, and until it says what an independent fold of the logs says. */
  async converged(): Promise<void> {
    await this.atHead();
    await eventually(
      'the expected state',
      () => this.difference(),
      (found) => found === '',
    );
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

  /** What differs between database and chain, or nothing. */
  async difference(): Promise<string> {
    const wanted = JSON.stringify(await this.expected());
    const found = JSON.stringify(await this.actual());
    return wanted === found ? '' : `chain ${wanted}\ndatabase ${found}`;
  }

  /** The state of the tables in a form that two databases can be compared by. */
  async actual(): Promise<unknown> {
    const events = await this.sql(
      `SELECT block_number::int AS block, log_index::int AS index, tx_hash AS hash, seq::int FROM chain_events ORDER BY 1, 2`,
    );
    const pools = await this.sql(
      `SELECT p.id, (p.balance - coalesce((SELECT sum(amount) FROM transactions t
         WHERE t.pool_id = p.id AND t.status = 'PENDING'), 0))::text AS balance,
         total_yield::text AS yield, claimed_yield::text AS claimed, apr_bps::float8 AS apr
       FROM pools p ORDER BY id`,
    );
    const confirmed = await this.sql(
      `SELECT pool_id AS pool, type, tx_hash AS hash, log_index AS index, amount::text FROM transactions
       WHERE status = 'CONFIRMED' ORDER BY block_number, log_index`,
    );
    const draws = await this.sql(
      `SELECT contract, draw_id::int AS draw, status, prize_pool::text AS prize, participants, total_tickets::int AS tickets,
         winner, paid, (SELECT coalesce(sum(paid_in - refunded), 0)::text FROM lottery_tickets t
           WHERE t.contract = d.contract AND t.draw_id = d.draw_id) AS kept
       FROM lottery_draws d ORDER BY 1, 2`,
    );
    return { events, pools, confirmed, draws };
  }

  /** The oracle: viem decodes the canonical logs, straight from the node. */
  private async expected(): Promise<unknown> {
    const address = [
      ...new Set([...Object.values(this.deployment.contracts), ...this.further.map(([, each]) => each)]),
    ];
    const raw = await this.owner.getLogs({ address, fromBlock: 0n, toBlock: 'latest' });
    const logs = parseEventLogs({ abi: contractAbi, logs: raw }).sort(
      (a, b) => Number(a.blockNumber - b.blockNumber) || a.logIndex - b.logIndex,
    );
    const known = new Map(
      this.pools.map((id) => [bytes16(id), { id, balance: 0n, yield: 0n, claimed: 0n, apr: 0 }]),
    );
    const confirmed: unknown[] = [];
    const draws = new Map<
      string,
      {
        contract: string;
        draw: number;
        status: string;
        prize: bigint;
        held: Map<string, bigint>;
        winner: string | null;
        paid: boolean;
        /** What accounts paid in, less refunds. */
        kept: bigint;
      }
    >();
    for (const { eventName, args, address: emitter, transactionHash: hash, logIndex: index } of logs) {
      if ('poolId' in args) {
        const pool = known.get(args.poolId);
        if (!pool || !('amount' in args)) continue;
        const move = (type: string): unknown =>
          confirmed.push({ pool: pool.id, type, hash, index, amount: args.amount.toString() });
        if (eventName === 'Deposited') pool.balance += args.amount;
        if (eventName === 'Deposited') move('DEPOSIT');
        if (eventName === 'Withdrawn') pool.balance -= args.amount;
        if (eventName === 'Withdrawn') move('WITHDRAWAL');
        if (eventName === 'YieldClaimed') pool.claimed += args.amount;
        if (eventName === 'YieldClaimed') move('YIELD_CLAIM');
        if (eventName === 'YieldAccrued')
          Object.assign(pool, { yield: pool.yield + args.amount, apr: args.aprBps });
        continue;
      }
      const contract = emitter.toLowerCase();
      const key = `${contract} ${`${args.drawId}`.padStart(9, '0')}`;
      const fresh = {
        contract,
        draw: Number(args.drawId),
        status: 'ACTIVE',
        prize: 0n,
        held: new Map<string, bigint>(),
        winner: null,
        paid: false,
        kept: 0n,
      };
      const draw = draws.get(key) ?? fresh;
      draws.set(key, draw);
      if (eventName === 'PrizeFunded') draw.prize += args.amount;
      if (eventName === 'PrizeFunded') draw.kept += args.amount;
      if (eventName === 'Refunded') draw.kept -= args.amount;
      if (eventName === 'PrizePaid') draw.paid = true;
      if (eventName === 'TicketsIssued') {
        const holder = args.account.toLowerCase();
        draw.held.set(holder, (draw.held.get(holder) ?? 0n) + args.count);
      }
      if (eventName === 'DrawClosed') draw.status = 'DRAWING';
      if (eventName === 'DrawCancelled') draw.status = 'CANCELLED';
      if (eventName === 'DrawCompleted')
        Object.assign(draw, { status: 'COMPLETED', winner: args.winner.toLowerCase() });
    }
    return {
      events: logs.map((log) => ({
        block: Number(log.blockNumber),
        index: log.logIndex,
        hash: log.transactionHash,
        seq: Number(log.args.seq),
      })),
      pools: [...known.values()]
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id, balance, yield: total, claimed, apr }) => ({
          id,
          balance: balance.toString(),
          yield: total.toString(),
          claimed: claimed.toString(),
          apr,
        })),
      confirmed,
      draws: [...draws]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, { contract, draw, status, prize, held, winner, paid, kept }]) => ({
          contract,
          draw,
          status,
          prize: prize.toString(),
          participants: held.size,
          tickets: Number([...held.values()].reduce((sum, count) => sum + count, 0n)),
          winner,
          paid,
          kept: kept.toString(),
        })),
    };
  }
}

/** A bench for the tests of a describe block. */
export function useChain(endpoints = 1): ChainBench {
  const bench = new ChainBench(endpoints);
  beforeAll(() => bench.start());
  afterAll(() => bench.stop());
  return bench;
}
