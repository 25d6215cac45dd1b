import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJson } from './files';
import { claim, release } from './processes';

/** Where the parts of `npm start` listen. */
export interface Ports {
  api: number;
  indexer: number;
  page: number;
}

/** What is not set and taken is looked for in these steps, so that a second and a third start have ports like the first. */
const STEP = 10;
const TRIES = 50;
/** The longest that a start takes to stop: streams are cut after seven seconds. */
const STOPPING_MS = 10_000;
/** Below these are ports of services, and above those that systems give to outgoing connections by default. */
const [LOWEST_PORT, HIGHEST_PORT] = [20_000, 32_767];

/** Begins at a random port, so that processes differ. */
let nextPort = randomInt(LOWEST_PORT, HIGHEST_PORT + 1);

/** Listens on this machine only unless HOST is set: a development service should not be on the network. */
export const hostOf = ({ HOST }: NodeJS.ProcessEnv): string => HOST || '127.0.0.1';

/** Where browsers and programs of this machine reach it. */
export function urlOf(given: NodeJS.ProcessEnv, port: number | string): string {
  const host = hostOf(given);
  const isLocal = ['127.0.0.1', '::1', '0.0.0.0', '::'].includes(host);
  return `http://${isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** @returns the error, if this process cannot listen there */
export async function listening(port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
  await once(server.close(), 'close');
  return undefined;
}

/**
 * A port that is free, and that no other process is given while this one lives: servers begin to listen later. Normally no
 * outgoing connection takes it before.
 */
export async function freePort(): Promise<number> {
  const port = nextPort;
  nextPort = port < HIGHEST_PORT ? port + 1 : LOWEST_PORT;
  // A port that another process has is not tried: its owner could not begin to listen at that moment.
  if (claim(fileOf('free-ports', port)) !== undefined) return freePort();
  const problem = await listening(port, '127.0.0.1');
  if (problem && problem.code !== 'EADDRINUSE') throw problem;
  return problem ? freePort() : port;
}

/**
 * Two starts in one folder would share its chain and its database, which the first one to stop would end. One that is
 * stopping is waited for.
 * @param running where the other one says where it is
 */
export async function beAlone(folder: string, running: string, patience = STOPPING_MS): Promise<void> {
  for (const end = Date.now() + patience; ; await sleep(100)) {
    const other = claim(path.join(folder, 'start.pid'));
    if (other === undefined) return rmSync(running, { force: true });
    if (Date.now() < end) continue;
    const { api } = readJson<{ api: string }>(running) ?? {};
    throw new Error(
      `npm start runs in this folder already: process ${other}${api ? `, ${api}` : ''}. Stop it, or start in another copy of the folder.`,
    );
  }
}

/**
 * Has a port for this process, ahead of others that start at the same time: it takes seconds until the service listens.
 * @returns the process that has it already, if any
 */
export const claimPort = (port: number): number | undefined => claim(fileOf('ports', port));

/** In one folder for each purpose: what has a free port may give it to `npm start`, which then claims it. */
function fileOf(name: string, port: number): string {
  const folder = path.join(tmpdir(), `pooled-savings-${name}-${process.getuid?.() ?? 0}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return path.join(folder, `${port}`);
}

/** All of them at once, so that a port that is taken shows before anything is started. */
export async function takePorts(given: NodeJS.ProcessEnv): Promise<Ports> {
  const host = hostOf(given);
  const api = await takePort('PORT', given.PORT, 3001, host);
  const indexer = await takePort('INDEXER_PORT', given.INDEXER_PORT, 3002, host);
  return { api, indexer, page: await takePort('PORT', undefined, api - 1, host) };
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
  for (let n = 0; ; n++) {
    const port = n < TRIES ? usual + n * STEP : await freePort();
    if (!(await take(port, host))) return port;
  }
}

/** @returns what is wrong with it, if anything */
async function take(port: number, host: string): Promise<string | undefined> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return 'no port';
  if (claimPort(port) !== undefined) return 'taken by another start';
  const problem = await problemAt(port, host);
  if (problem) release(fileOf('ports', port));
  return problem;
}

async function problemAt(port: number, host: string): Promise<string | undefined> {
  // Browsers take ::1 for localhost first, if something listens there.
  const others = ['127.0.0.1', '::1', 'localhost'].includes(host) ? ['127.0.0.1', '::1'] : [];
  for (const each of new Set([host, ...others])) {
    const { code } = (await listening(port, each)) ?? {};
    if (code === 'EADDRINUSE') return 'taken';
    if (code && each === host) return `not to be had (${code})`;
  }
  return undefined;
}
