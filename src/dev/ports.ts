import { linkSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './postgres-host';
import { commandOf } from './processes';
import { type Ports, hostOf } from './settings';

/** What is not set and taken is looked for in these steps, so that a second and a third start have ports like the first. */
const STEP = 10;
const TRIES = 50;
/** The longest that a process takes to end once its API has. */
const STOPPING_MS = 30_000;

/** Files by which this process has something. */
const ours = new Set<string>();
process.on('exit', () => ours.forEach((file) => rmSync(file, { force: true })));

/**
 * Has something for as long as this process lives, by a file that names it. The file of a process that is gone, or of
 * another folder, counts for nothing.
 * @returns the process that has it already, if any, which may be this one
 */
function claim(file: string): number | undefined {
  const place = path.join(realpathSync(path.dirname(file)), path.basename(file));
  if (ours.has(place)) return process.pid;
  const draft = `${place}.${process.pid}`;
  writeFileSync(draft, `${process.pid}\n${place}\n${commandOf(process.pid)}`, { mode: 0o600 });
  try {
    // link() never replaces a file, and the file is whole as soon as it is there.
    while (!linked(draft, place)) {
      const holder = holderOf(place);
      if (holder !== undefined) return holder;
      rmSync(place, { force: true });
    }
  } finally {
    rmSync(draft);
  }
  ours.add(place);
  return undefined;
}

function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** Process ids are used again, so the command has to be the same, and never ours: we have made no such file. */
function holderOf(file: string): number | undefined {
  try {
    const [pid, place, ...rest] = readFileSync(file, 'utf8').split('\n');
    // A command may have lines of its own.
    const command = rest.join('\n');
    const isHeld = place === file && command !== '' && commandOf(Number(pid)) === command;
    return isHeld && Number(pid) !== process.pid ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Two starts in one folder would share its chain and its database, which the first one to stop would end. One that is
 * stopping is waited for.
 * @param running where the other one says where it is
 */
export async function beAlone(folder: string, running: string): Promise<void> {
  const end = Date.now() + STOPPING_MS;
  for (;;) {
    const other = claim(path.join(folder, 'start.pid'));
    if (other === undefined) return rmSync(running, { force: true });
    const api = apiOf(running);
    const isStopping = api && (await listening(Number(new URL(api.url).port), api.host)) === undefined;
    if (!isStopping || Date.now() > end)
      throw new Error(
        `npm start runs in this folder already: process ${other}${api ? `, ${api.url}` : ''}. Stop it, or start in another copy of the folder.`,
      );
    await sleep(100);
  }
}

/** @returns undefined while it is not up yet */
function apiOf(running: string): { url: string; host: string } | undefined {
  try {
    const { api, host } = JSON.parse(readFileSync(running, 'utf8')) as { api: string; host: string };
    return { url: api, host };
  } catch {
    return undefined;
  }
}

/**
 * Has a port for this process, ahead of others that start at the same time: it takes seconds until the service listens.
 * @returns the process that has it already, if any
 */
export function claimPort(port: number): number | undefined {
  const folder = path.join(tmpdir(), `pooled-savings-ports-${process.getuid?.() ?? 0}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return claim(path.join(folder, `${port}`));
}

/**
 * Takes a port for what `name` sets: that one, or, if nothing is set, the usual one or another that is free.
 * @throws Error when the port that is set cannot be used
 */
async function takePort(
  name: string,
  given: string | undefined,
  usual: number,
  host: string,
): Promise<number> {
  if (given && Number(given) !== 0) {
    const problem = await take(Number(given), host);
    if (problem) throw new Error(`Port ${given} is ${problem}; set ${name} to another one, or to none.`);
    return Number(given);
  }
  for (let n = 0; n < TRIES; n++) if (!(await take(usual + n * STEP, host))) return usual + n * STEP;
  for (;;) {
    const port = await freePort();
    if (!(await take(port, host))) return port;
  }
}

/** @returns what is wrong with it, if anything */
async function take(port: number, host: string): Promise<string | undefined> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return 'no port';
  // Browsers take ::1 for localhost first, if something listens there.
  const others = ['127.0.0.1', '::1', 'localhost'].includes(host) ? ['127.0.0.1', '::1'] : [];
  for (const each of new Set([host, ...others])) {
    const code = await listening(port, each);
    if (code === 'EADDRINUSE') return 'taken';
    if (code && each === host) return `not to be had (${code})`;
  }
  return claimPort(port) === undefined ? undefined : 'taken by another start';
}

/** @returns the code of the error, if nobody can listen there */
async function listening(port: number, host: string): Promise<string | undefined> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
  await once(server.close(), 'close');
  return undefined;
}

/** All of them at once, so that a port that is taken shows before anything is started. */
export async function takePorts(given: NodeJS.ProcessEnv): Promise<Ports> {
  const host = hostOf(given);
  const api = await takePort('PORT', given.PORT, 3001, host);
  const indexer = await takePort('INDEXER_PORT', given.INDEXER_PORT, 3002, host);
  return { api, indexer, page: await takePort('PORT', undefined, api - 1, host) };
}
