import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { POOL_TYPES } from '#values/types';
import { freePort } from '#dev/ports';

const ROOT = path.resolve(__dirname, '..');
const LOGS = path.join(__dirname, '.data', 'logs');
const PROBE = path.join(__dirname, 'probe.js');

const TYPESCRIPT = ['-C', 'source', '-r', 'ts-node/register/transpile-only'];

export const PEERS = {
  /** Fastify on the driver pg. */
  pg: { script: path.join(__dirname, 'peers', 'pg.ts'), flags: TYPESCRIPT },
  /** What production runs. */
  service: { script: path.join(ROOT, 'dist', 'src', 'main.js'), flags: [] as string[] },
};

/** Uses another build of the service, to compare two. */
export function useService(script: string): void {
  PEERS.service.script = path.resolve(script);
}

export type PeerName = keyof typeof PEERS;

/** What a peer's process says of itself. */
export interface Probe {
  /** µs of CPU since its start. */
  cpuUs: number;
  /** The longest stall of its event loop since the last probe. */
  stallMs: number;
  /** The longest work of its thread in a turn of the event loop. The rest of a stall is mostly a wait for a core. */
  workMs: number;
}

export interface Peer {
  name: PeerName;
  url: string;
  probe(): Promise<Probe>;
  stop(): Promise<void>;
}

export const JWT_SECRET = randomBytes(32).toString('hex');
export const SIWE_DOMAIN = 'bench.example';
/** Of every pool type. */
export const CONTRACT = `0x${'c'.repeat(40)}`;
export const POOL_CONTRACTS = POOL_TYPES.map((type) => `${type}=${CONTRACT}`).join(',');

/** The environment of every peer: as in production, with limits that no run reaches. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  NODE_ENV: 'production',
  NODE_OPTIONS: '--max-semi-space-size=32',
  CHAIN_ID: '1',
  LOG_LEVEL: 'info',
  HOST: '127.0.0.1',
  JWT_SECRET,
  METRICS_TOKEN: randomBytes(16).toString('hex'),
  SIWE_DOMAINS: SIWE_DOMAIN,
  POOL_CONTRACTS,
  RATE_LIMIT_GENERAL: '1000000000',
  RATE_LIMIT_AUTH: '1000000000',
};

interface Start {
  /** Holds the data. */
  databaseUrl: string;
  /** A copy without triggers, which the peer writes to: it keeps no totals. */
  plainUrl: string;
  /** More flags for node. */
  flags?: string[];
  /** More settings. */
  env?: NodeJS.ProcessEnv;
}

/** Starts a peer as a separate process that logs to a file, and waits until it listens. */
export async function startPeer(
  name: PeerName,
  { databaseUrl, plainUrl, flags = [], env = {} }: Start,
): Promise<Peer> {
  const { script, flags: own } = PEERS[name];
  const port = await freePort();
  mkdirSync(LOGS, { recursive: true });
  const log = openSync(path.join(LOGS, `${name}.log`), 'w');
  const child = fork(script, {
    cwd: ROOT,
    env: {
      ...ENVIRONMENT,
      PORT: `${port}`,
      DATABASE_URL: databaseUrl,
      ...(name !== 'service' && { PLAIN_URL: plainUrl }),
      ...env,
    },
    execArgv: ['-r', PROBE, ...own, ...flags],
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}; see ${LOGS}`)));
  });
  const probe = async (): Promise<Probe> => {
    const answer = once(child, 'message') as Promise<[Probe]>;
    child.send('probe');
    return (await answer)[0];
  };
  return { name, url: `http://127.0.0.1:${port}`, probe, stop: () => stopChild(child) };
}

export async function startPeers(names: readonly PeerName[], start: Start): Promise<Peer[]> {
  const peers: Peer[] = [];
  try {
    for (const name of names) peers.push(await startPeer(name, start));
    return peers;
  } catch (error) {
    for (const peer of peers) await peer.stop();
    throw error;
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}
