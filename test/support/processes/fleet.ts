import type { QueryResultRow } from 'pg';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { type Deployment, anvilRpc, connect, deployContracts } from '#dev/deploy';
import { freePort } from '#dev/ports';
import { withClient } from '#dev/postgres';
import { CONTRACTS, JWT_SECRET, METRICS_TOKEN, asSetting } from '../app';
import { type TestDatabase, freshDatabase, query, urlAs } from '../database';
import { Replica, Service, eventually } from './processes';

export interface FleetOptions {
  replicas?: number;
  settings?: NodeJS.ProcessEnv;
  /** Database to use instead of a fresh one. */
  database?: TestDatabase;
  /** By which API and indexer reach that database, where that is not its own URL. */
  urls?: Record<'api' | 'indexer', string>;
  /** Of another version than this one. */
  built?: string;
  /** Also starts a chain, a leading indexer, and one on standby. */
  indexed?: boolean;
}

/** An indexer gives way to everything else on a busy machine. */
const FOLLOWS_MS = 120_000;

/** API replicas on one database, as production runs them. */
export class Fleet {
  stopped = false;

  private constructor(
    readonly replicas: Replica[],
    readonly indexers: Service[],
    readonly database: TestDatabase,
    /** Of its API processes, without their ports. */
    readonly environment: NodeJS.ProcessEnv,
    readonly chain?: AnvilNode,
    readonly deployment?: Deployment,
  ) {}

  static async start({
    replicas = 2,
    settings,
    database,
    urls,
    built,
    indexed,
  }: FleetOptions = {}): Promise<Fleet> {
    const shared = database ?? (await freshDatabase());
    const chain = indexed ? await startAnvil() : undefined;
    const deployment = chain && (await deployContracts(chain.url));
    const contracts = deployment?.contracts ?? CONTRACTS;
    // A server that was given may have no accounts but its own.
    const as = (role: 'api' | 'indexer'): string =>
      urls?.[role] ?? (database ? shared.url : urlAs(shared.url, role));
    const environment = {
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'warn',
      DATABASE_URL: as('api'),
      DATABASE_POOL_SIZE: '10',
      JWT_SECRET,
      METRICS_TOKEN,
      SIWE_DOMAINS: 'app.example.org',
      CHAIN_ID: '1',
      RATE_LIMIT_GENERAL: '1000000000',
      RATE_LIMIT_AUTH: '1000000000',
      POOL_CONTRACTS: asSetting(contracts),
      ...(chain && { RPC_URL: chain.url, INDEXER_PORT: '0' }),
      ...settings,
    };
    const members: Replica[] = [];
    for (let i = 0; i < replicas; i++) members.push(new Replica(await freePort(), environment, built));
    const indexers = indexed
      ? [1, 2].map(
          () =>
            new Service('indexer', {
              ...environment,
              DATABASE_URL: as('indexer'),
              CHAIN_ID: '',
            }),
        )
      : [];
    const fleet = new Fleet(members, indexers, shared, environment, chain, deployment);
    try {
      await Promise.all([...members, ...indexers].map((each) => each.start()));
      // As an indexer that is up to date would: without one /health is never `healthy`.
      if (!indexed)
        await fleet.sql(`
        INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, state, beat_at, progress_at)
        VALUES (1, '', 1, '', now(), 1, 'synced', now() + interval '1 day', now() + interval '1 day')`);
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
    await Promise.all([...this.replicas, ...this.indexers].map((each) => each.end('SIGKILL')));
    await this.chain?.stop();
    await this.database.drop();
  }

  sql<Row extends QueryResultRow = QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]> {
    return query(this.database.url, text, values);
  }

  /** Waits until a new block of the chain is in the database: an indexer leads. */
  async followsChain(): Promise<void> {
    if (!this.chain) throw new Error('this fleet has no chain');
    const client = await connect(this.chain.url);
    await anvilRpc(client, 'evm_mine');
    const block = `${await client.getBlockNumber({ cacheTime: 0 })}`;
    const found = 'SELECT FROM chain_cursor WHERE block_number >= $1';
    // After a fault the server may refuse connections for a moment.
    await eventually(async () => (await this.sql(found, [block]).catch(() => [])).length === 1, FOLLOWS_MS);
  }

  /** Blocks every statement on the table until `work` is done. */
  async whileLocked<T>(table: string, work: () => Promise<T>): Promise<T> {
    return withClient(this.database.url, async (client) => {
      await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      return work().finally(() => client.query('ROLLBACK'));
    });
  }

  /** The number of the replicas' connections to the server. */
  async connections(): Promise<number> {
    const [{ count }] = await this.sql<{ count: number }>(`
      SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'api'`);
    return count;
  }
}

/** Prints one line about the observed effect of a fault. */
export function report(fault: string, counted: Record<string, string | number>): void {
  const figures = Object.entries(counted).map(([name, value]) => `${value} ${name}`);
  process.stdout.write(`  ${fault}: ${figures.join(', ')}\n`);
}

export const seconds = (ms: number): string => (ms / 1000).toFixed(2);
