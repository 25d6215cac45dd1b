import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { Migrator, migrationSource } from '#platform/migrating/migrator';
import { createDatabase, startPostgres, withClient } from '#dev/postgres';
import { serverCpuUs } from './cpu';
import { HEAVY, type Size, fill } from './fill';

const ROOT = path.resolve(__dirname, '..');
/** Filled databases stay here for the next run. After removing the folder they are filled again. */
const DATA = path.join(__dirname, '.data');

export interface Caller {
  id: string;
  address: string;
  /** Ids of pools that the caller may read, and hashes of transactions in them. */
  pools: string[];
  hashes: string[];
}

/** The PostgreSQL that all peers and pgbench share, with its default, durable settings, and room for all. */
export class BenchDatabase {
  private constructor(
    private readonly admin: Client,
    private readonly url: string,
    private readonly pid: number,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(): Promise<BenchDatabase> {
    const settings = { max_connections: '200' };
    const server = await startPostgres({ dir: DATA, database: 'bench', settings });
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    return new BenchDatabase(admin, server.url, server.pid, async () => {
      await admin.end();
      await server.stop();
    });
  }

  /**
   * The url of a migrated database of that size. It is filled unless an earlier run has left one with the same
   * schema.
   */
  async filled(size: Size): Promise<string> {
    const { pools, transactions, heavy } = size;
    const prefix = `filled_${pools}_${transactions}${heavy ? `_${HEAVY}` : ''}_`;
    const name = prefix + fingerprint();
    const { rows } = await this.admin.query<{ datname: string }>(
      `SELECT datname FROM pg_database WHERE starts_with(datname, 'filling') OR starts_with(datname, $1)`,
      [prefix],
    );
    for (const { datname } of rows) if (datname !== name) await this.drop(datname);
    if (!rows.some(({ datname }) => datname === name)) {
      await this.made('filling', (client) => fill(client, size));
      await this.admin.query(`ALTER DATABASE filling RENAME TO ${name}`);
    }
    return this.urlOf(name);
  }

  /** A migrated database filled by `work`. It replaces the last one of that name. */
  async made(name: string, work: (client: Client) => Promise<void>): Promise<string> {
    await this.drop(name);
    const url = await createDatabase(this.url, name);
    await migrate(url);
    await withClient(url, work);
    return url;
  }

  /** A copy of a database. It replaces the last one of that name. */
  async copy(url: string, name: string): Promise<string> {
    await this.drop(name);
    const template = new URL(url).pathname.slice(1);
    await this.admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    return this.urlOf(name);
  }

  /** Waits until no statement runs: a peer may still be working on requests that its driver has abandoned. */
  async quiet(): Promise<void> {
    for (let tries = 0; tries < 1000; tries++) {
      const { rowCount } = await this.admin.query(
        `SELECT FROM pg_stat_activity
         WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid() LIMIT 1`,
      );
      if (!rowCount) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error('the database does not come to rest');
  }

  /** µs of CPU that the server has used so far. NaN on systems without /proc. */
  cpuUs(): number {
    return serverCpuUs(this.pid);
  }

  /** Bytes of a database. */
  async sizeOf(url: string): Promise<number> {
    const name = new URL(url).pathname.slice(1);
    const { rows } = await this.admin.query<{ size: string }>('SELECT pg_database_size($1) AS size', [name]);
    return Number(rows[0].size);
  }

  /** Of a database that an earlier run has made, too. */
  urlOf(name: string): string {
    const url = new URL(this.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  private async drop(name: string): Promise<void> {
    await this.admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
}

/** Removes the triggers that keep the totals. */
export async function dropTriggers(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ text: string }>(
      `SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) AS text FROM pg_trigger WHERE NOT tgisinternal`,
    );
    for (const { text } of rows) await client.query(text);
  });
}

/** `count` users with their own pools, alike in everything that costs. Always the same ones. */
export async function callers(url: string, count: number, skip = 0): Promise<Caller[]> {
  const chosen = `SELECT id, address FROM users WHERE (SELECT count(*) FROM pools WHERE owner_id = users.id LIMIT 11) = 10
    ORDER BY address LIMIT ${count} OFFSET ${skip}`;
  return withClient(url, (client) => describe(client, chosen));
}

/** The caller with that many pools of their own or, with role MEMBER, of others. */
export async function heavyCaller(url: string, pools: number, role = 'OWNER'): Promise<Caller> {
  const chosen = `SELECT u.id, u.address FROM pool_members m JOIN users u USING (address) WHERE m.role = '${role}'
    GROUP BY 1, 2 HAVING count(*) = ${pools}`;
  const [caller] = await withClient(url, (client) => describe(client, chosen));
  return caller;
}

async function describe(client: Client, chosen: string): Promise<Caller[]> {
  const { rows } = await client.query<Caller>(`
    SELECT u.id, u.address,
      ARRAY(SELECT pool_id FROM pool_members WHERE address = u.address ORDER BY pool_id LIMIT 8) AS pools,
      ARRAY(SELECT tx_hash FROM transactions WHERE tx_hash IS NOT NULL
        AND pool_id = ANY(ARRAY(SELECT pool_id FROM pool_members WHERE address = u.address LIMIT 8))
        ORDER BY id LIMIT 8) AS hashes
    FROM (${chosen}) u`);
  return rows;
}

async function migrate(url: string): Promise<void> {
  const source = await migrationSource(url).initialize();
  await new Migrator(source, () => undefined).run().finally(() => source.destroy());
}

/** Changes with the schema and with the code that fills it. */
function fingerprint(): string {
  const folder = path.join(ROOT, 'migrations');
  const files = [
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|sql)$/.test(file))
      .sort()
      .map((file) => path.join(folder, file)),
    path.join(__dirname, 'fill.ts'),
  ];
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 8);
}
