import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, type QueryResultRow } from 'pg';
import { freePort } from '../../src/local/postgres-host';
import { CONTRACTS, JWT_SECRET } from './app';
import { type TestDatabase, freshDatabase } from './database';

const MAIN = join(__dirname, '../../dist/src/main.js');
/** Bytes kept of what a process wrote, to tell why it failed. */
const LOG_TAIL = 20_000;

/** A child process that ends with us, however we end. */
abstract class Child {
  protected process?: ChildProcess;
  protected log = '';

  get pid(): number {
    if (!this.process?.pid) throw new Error(`${this.constructor.name} does not run`);
    return this.process.pid;
  }

  get running(): boolean {
    return this.process !== undefined && this.process.exitCode === null && this.process.signalCode === null;
  }

  protected adopt(child: ChildProcess): void {
    this.process = child;
    this.log = '';
    const keep = (chunk: Buffer): void => void (this.log = (this.log + chunk.toString()).slice(-LOG_TAIL));
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.on('error', (error) => keep(Buffer.from(error.message)));
    const end = (): void => void child.kill('SIGKILL');
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
  }

  /** Resolves with the exit code; null after a signal that kills. */
  get ended(): Promise<number | null> {
    const child = this.process;
    if (!child || !this.running) return Promise.resolve(child?.exitCode ?? null);
    return (once(child, 'exit') as Promise<[number | null]>).then(([code]) => code);
  }

  signal(signal: NodeJS.Signals): void {
    this.process?.kill(signal);
  }

  /** Sends the signal and waits for the end; resolves as `ended` does. */
  end(signal: NodeJS.Signals): Promise<number | null> {
    const { ended } = this;
    if (this.running) this.signal(signal);
    return ended;
  }
}

/** One API process, built as in production, always on the same port. */
export class Replica extends Child {
  constructor(
    readonly port: number,
    private readonly settings: NodeJS.ProcessEnv,
  ) {
    super();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What it wrote last. */
  get output(): string {
    return this.log;
  }

  async start(): Promise<void> {
    if (!existsSync(MAIN)) throw new Error('the fault tests run the built service: `npm run build` first');
    const child = fork(MAIN, {
      // jest's own flags and NODE_OPTIONS are none of its business.
      execArgv: [],
      env: { PATH: process.env.PATH, ...this.settings, PORT: String(this.port) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.adopt(child);
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error(`a replica did not start:\n${this.log}`))),
    ]);
  }
}

/** A Redis server of our own, with nothing kept on disk, always on the same port. */
export class RedisServer extends Child {
  private constructor(readonly port: number) {
    super();
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const flags = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const child = spawn('redis-server', flags, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    this.adopt(child);
    if (!child.pid)
      throw new Error(
        'redis-server is missing: install it (apt-get install redis-server) for the fault tests',
      );
    await eventually(() => {
      if (!this.running) throw new Error(`redis-server did not start:\n${this.log}`);
      return this.log.includes('Ready to accept connections');
    });
  }
}

export interface FleetOptions {
  replicas?: number;
  settings?: NodeJS.ProcessEnv;
  /** Instead of a fresh one on the server of the run. */
  database?: TestDatabase;
}

/** API replicas on one database, as production runs them. */
export class Fleet {
  stopped = false;

  private constructor(
    readonly replicas: Replica[],
    readonly database: TestDatabase,
  ) {}

  static async start({ replicas = 2, settings = {}, database }: FleetOptions = {}): Promise<Fleet> {
    const shared = database ?? (await freshDatabase());
    const environment = {
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'warn',
      DATABASE_URL: shared.url,
      DATABASE_POOL_SIZE: '10',
      JWT_SECRET,
      SIWE_DOMAINS: 'app.example.org',
      RATE_LIMIT_GENERAL: '1000000000',
      RATE_LIMIT_AUTH: '1000000000',
      POOL_CONTRACTS: Object.entries(CONTRACTS)
        .map((pair) => pair.join('='))
        .join(','),
      ...settings,
    };
    const members: Replica[] = [];
    for (let i = 0; i < replicas; i++) members.push(new Replica(await freePort(), environment));
    const fleet = new Fleet(members, shared);
    try {
      await Promise.all(members.map((replica) => replica.start()));
      // As an indexer that is up to date would: without one /health is never `healthy`.
      await fleet.sql(`
        INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, state, beat_at)
        VALUES (1, '', 1, '', now(), 1, 'synced', now() + interval '1 day')`);
    } catch (error) {
      await fleet.stop();
      throw error;
    }
    return fleet;
  }

  get urls(): string[] {
    return this.replicas.map(({ url }) => url);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.replicas.map((replica) => replica.end('SIGKILL')));
    await this.database.drop();
  }

  async sql<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return withClient(this.database.url, async (client) => (await client.query<Row>(text, values)).rows);
  }

  /** Holds every statement that touches the table back until `work` is done. */
  async whileLocked<T>(table: string, work: () => Promise<T>): Promise<T> {
    return withClient(this.database.url, async (client) => {
      await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      return work().finally(() => client.query('ROLLBACK'));
    });
  }

  /** Statements of the replicas that wait for a lock. */
  async waiting(): Promise<number> {
    const [{ count }] = await this.sql<{ count: number }>(`
      SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'api' AND wait_event_type = 'Lock'`);
    return count;
  }

  /** Connections that the replicas hold on the server. */
  async connections(): Promise<number> {
    const [{ count }] = await this.sql<{ count: number }>(`
      SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'api'`);
    return count;
  }
}

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return work(client).finally(() => client.end());
}

/** Waits until it holds. A fault that never ends fails the test this way, and leaves nothing running. */
export async function eventually(condition: () => unknown, limit = 30_000): Promise<void> {
  const end = Date.now() + limit;
  while (!(await condition())) {
    if (Date.now() > end)
      throw new Error(`this did not come true within ${limit / 1000} s: ${String(condition)}`);
    await wait(10);
  }
}

/** One line in the output of the run: what a fault was seen to do. */
export function report(fault: string, counted: Record<string, string | number>): void {
  const figures = Object.entries(counted).map(([name, value]) => `${value} ${name}`);
  process.stdout.write(`  ${fault}: ${figures.join(', ')}\n`);
}

export const seconds = (ms: number): string => (ms / 1000).toFixed(2);
