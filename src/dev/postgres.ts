import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, escapeIdentifier } from 'pg';
import {
  type Account,
  accountForServer,
  findBinaries,
  findServer,
  freePort,
  halt,
  ignore,
  isServer,
  lastPort,
  reaches,
  readPidFile,
  removeFolder,
  sharedFolder,
  standIn,
  sweep,
} from './postgres-host';

/** A PostgreSQL server that we started. */
export interface LocalPostgres {
  url: string; // postgres://…/database on 127.0.0.1, password included
  port: number;
  pid: number;
  dataDir: string; // outside `dir` when the server's account cannot reach `dir`
  stop(): Promise<void>; // also of a server that a killed process had left running
}

export interface PostgresOptions {
  dir: string; // persistent: holds password, log and data; ephemeral: where a throw-away folder is made
  database: string;
  port?: number; // a wish: if taken, another is used; default: the last one, else any free one
  ephemeral?: boolean; // for tests: nothing is durable, the folder is removed at stop
  settings?: Record<string, string>; // further ones, named as in postgresql.conf
}

type Cluster = PostgresOptions & { native: string; data: string; password: string; account: Account };

/** Crash recovery on a busy machine takes time. */
const START_TIMEOUT_MS = 60_000;
const LOG_LIMIT_BYTES = 10_000_000;
const EPHEMERAL = 'pooled-savings-test-';
const HALF_MADE = 'new-';
const UTC = { timezone: 'UTC', log_timezone: 'UTC' };
const COMMON = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...UTC };
const DURABLE = { max_connections: '100' };
const UNSAFE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const FAST = { ...UNSAFE, max_connections: '200', shared_buffers: '128MB' };
// PG* variables would change the server, and it needs none of our secrets.
const ENV = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

/**
 * Starts a PostgreSQL server, or takes over the one that a killed process left in the same folder. Fails if another
 * living process holds that folder's server.
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  let account = accountForServer();
  await fs.mkdir(options.dir, { recursive: true });
  let dir = await fs.realpath(options.dir);
  if (options.ephemeral) {
    if (!reaches(dir, account)) dir = sharedFolder(account);
    await sweep(dir, EPHEMERAL);
    dir = await fs.mkdtemp(join(dir, `${EPHEMERAL}${process.pid}-`));
  }
  try {
    if (account) {
      await fs.chmod(dir, statSync(dir).mode | 0o111);
      // Only the account that made a cluster can run it.
      const made = statSync(join(dir, 'data'), { throwIfNoEntry: false });
      if (made?.uid) account = { uid: made.uid, gid: made.gid };
    }
    const native = await findBinaries(account);
    const data = join(reaches(dir, account) ? dir : await standIn(dir, account), 'data');
    const password = await readPassword(dir, data);
    const cluster = { ...options, dir, native, data, password, account };
    await sweep(dirname(data), HALF_MADE);
    if (!existsSync(data)) await initialise(cluster);
    return await launch(cluster);
  } catch (error) {
    if (options.ephemeral) await removeFolder(dir);
    throw error;
  }
}

/** Creates an empty database on the server of `url`; returns its url. */
export async function createDatabase(url: string, name: string): Promise<string> {
  const target = new URL(url);
  target.pathname = '/postgres';
  const client = new Client({ connectionString: target.href });
  await client.connect();
  await client.query(`CREATE DATABASE ${escapeIdentifier(name)}`).finally(() => client.end());
  target.pathname = `/${encodeURIComponent(name)}`;
  return target.href;
}

/** The superuser's password. It is created at the first start and kept beside the cluster. */
async function readPassword(dir: string, data: string): Promise<string> {
  const file = join(dir, 'password');
  if (!existsSync(file)) {
    if (dirname(data) === dir && existsSync(data))
      throw new Error(`${file} is missing: restore it, or remove ${data} to start with an empty database`);
    const draft = `${file}-${process.pid}-${randomBytes(4).toString('hex')}`;
    await fs.writeFile(draft, randomBytes(24).toString('hex'), { mode: 0o600 });
    // link() never replaces a file: of two simultaneous starts one wins, and neither reads a half-written file.
    await fs.link(draft, file).catch(ignore('EEXIST'));
    const won = statSync(file).ino === statSync(draft).ino;
    await fs.rm(draft);
    if (won && existsSync(data)) {
      // `dir` was removed to start afresh, so its replacement elsewhere goes too.
      await halt(readPidFile(data)?.pid, data);
      await removeFolder(data);
    }
  }
  return fs.readFile(file, 'utf8');
}

/** Runs initdb under another name until it is complete, so that a cluster never exists half-made. */
async function initialise({ native, data, password, account, ephemeral }: Cluster): Promise<void> {
  const work = await fs.mkdtemp(join(dirname(data), `${HALF_MADE}${process.pid}-`));
  const [fresh, secret] = [join(work, 'data'), join(work, 'password')];
  const flags =
    '-U postgres -A scram-sha-256 -E UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8';
  const args = ['-D', fresh, `--pwfile=${secret}`, ...flags.split(' '), ...(ephemeral ? ['--no-sync'] : [])];
  try {
    await fs.mkdir(fresh, { mode: 0o700 });
    await fs.writeFile(secret, password, { mode: 0o600 });
    if (account) {
      await fs.chmod(work, 0o711);
      for (const path of [fresh, secret]) await fs.chown(path, account.uid, account.gid);
    }
    await promisify(execFile)(join(native, 'bin/initdb'), args, { ...account, env: ENV, cwd: '/' });
    // If another start was faster, its cluster stays.
    await fs.rename(fresh, data).catch(ignore('EEXIST', 'ENOTEMPTY'));
  } finally {
    await removeFolder(work);
  }
}

async function launch(cluster: Cluster): Promise<LocalPostgres> {
  const { data, dir } = cluster;
  const until = Date.now() + START_TIMEOUT_MS;
  let port = cluster.port ?? lastPort(data) ?? (await freePort());
  let problem = `its server does not accept the password in ${dir}`;
  while (Date.now() < until) {
    if (await findServer(data)) {
      const server = await takeOver(cluster);
      if (server) return server;
      await wait(100);
      continue;
    }
    const { child, output } = await spawnServer(cluster, port);
    const runs = () => child.exitCode === null && child.signalCode === null;
    while (runs() && Date.now() < until) {
      const server = await takeOver(cluster);
      if (server) return server;
      await wait(20);
    }
    problem = output();
    if (runs()) await halt(child.pid, data);
    else if (/could not create any TCP\/IP sockets/.test(problem)) port = await freePort();
    // The last server's processes may need a moment to end, and another start may be ahead of this one.
    else if (/postmaster\.pid|shared memory block/.test(problem)) await wait(200);
    else break;
  }
  throw new Error(`PostgreSQL did not start on ${data}:\n${problem}`);
}

async function spawnServer({ native, dir, data, account, ephemeral, settings }: Cluster, port: number) {
  const log = join(dir, 'postgres.log');
  const logged = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  const wanted = Object.entries({ ...COMMON, ...(ephemeral ? FAST : DURABLE), ...settings });
  const flags = wanted.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const args = ['-D', data, '-p', `${port}`, ...flags];
  const fd = openSync(log, logged < LOG_LIMIT_BYTES ? 'a' : 'w', 0o600);
  // In a process group of its own, a persistent server does not get Ctrl-C before its users have finished.
  const spawning = { ...account, env: ENV, cwd: '/', detached: !ephemeral };
  const child = spawn(join(native, 'bin/postgres'), args, { ...spawning, stdio: ['ignore', fd, fd] });
  closeSync(fd);
  if (!child.pid) throw new Error(`cannot run PostgreSQL: ${String((await once(child, 'error'))[0])}`);
  child.unref(); // it is the connection to the server that keeps us alive
  const start = logged < LOG_LIMIT_BYTES ? logged : 0;
  const output = () => readFileSync(log).subarray(start).toString().trim().split('\n').slice(-15).join('\n');
  return { child, output };
}

/**
 * Connects and holds an advisory lock for as long as this process lives. The connection ends with the process, so a
 * held lock means a living owner. Undefined while the server is not up.
 */
async function takeOver(cluster: Cluster): Promise<LocalPostgres | undefined> {
  const { data, dir, database, ephemeral, password } = cluster;
  const { pid, port, ready } = readPidFile(data) ?? {};
  if (!pid || !port || !ready) return undefined;
  const base = `postgres://postgres:${password}@127.0.0.1:${port}`;
  const client = new Client({
    connectionString: `${base}/postgres`,
    application_name: `process ${process.pid}`,
    connectionTimeoutMillis: 5_000,
    lock_timeout: 2_000, // a killed owner's connection takes a moment to be noticed
  });
  client.on('error', () => undefined); // the server ends this connection when it stops
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    if (rows[0].data_directory !== data) throw new Error('a copy of this folder, with the same password');
    await client.query('SELECT pg_advisory_lock(1)');
  } catch (error) {
    const busy = (error as { code?: string }).code === '55P03';
    const holder = busy ? await lockHolder(client) : '';
    client.end().catch(() => undefined);
    if (busy) throw new Error(`the database in ${dir} is in use by ${holder}`);
    return undefined;
  }

  const kill = () => void (isServer(pid, data) && process.kill(pid, 'SIGQUIT'));
  const shutDown = async () => {
    await halt(pid, data); // ends our connection too: until the server is gone nobody else can take it over
    process.off('exit', kill);
    if (ephemeral) await removeFolder(dir);
  };
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= shutDown());
  if (ephemeral) process.once('exit', kill); // for a test run that ends without stop()
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [database]);
    const url = rowCount ? `${base}/${encodeURIComponent(database)}` : await createDatabase(base, database);
    return { url, port, pid, dataDir: data, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function lockHolder(client: Client): Promise<string> {
  const holders = `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND datname = current_database()`;
  const found = await client.query<{ name: string }>(holders).catch(() => undefined);
  return found?.rows[0]?.name ?? 'another process';
}
