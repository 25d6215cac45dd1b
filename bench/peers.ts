import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../src/local/postgres-host';

const ROOT = path.resolve(__dirname, '..');
const LOGS = path.join(__dirname, '.data', 'logs');

export const PEERS = {
  /** Fastify and pg: the ceiling. */
  bare: {
    script: path.join(__dirname, 'peers', 'bare.ts'),
    flags: ['-r', 'ts-node/register/transpile-only'],
  },
  /** What production runs. */
  service: { script: path.join(ROOT, 'dist', 'src', 'main.js'), flags: [] },
};

/** Uses another build of the service, to compare two. */
export function useService(script: string): void {
  PEERS.service.script = path.resolve(script);
}

export type PeerName = keyof typeof PEERS;

export interface Peer {
  name: PeerName;
  url: string;
  stop(): Promise<void>;
}

export const JWT_SECRET = randomBytes(32).toString('hex');
export const SIWE_DOMAIN = 'bench.example';
const CONTRACT = `0x${'c'.repeat(40)}`;

/** The environment of every peer: as in production, with limits that no run reaches. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  NODE_ENV: 'production',
  CHAIN_ID: '1',
  LOG_LEVEL: 'info',
  HOST: '127.0.0.1',
  JWT_SECRET,
  SIWE_DOMAINS: SIWE_DOMAIN,
  POOL_CONTRACTS: ['individual', 'cooperative', 'lottery', 'rotating']
    .map((type) => `${type}=${CONTRACT}`)
    .join(','),
  RATE_LIMIT_GENERAL: '1000000000',
  RATE_LIMIT_AUTH: '1000000000',
};

interface Start {
  /** Holds the data. */
  databaseUrl: string;
  /** A copy without triggers, which bare writes to: it keeps no totals. */
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
      ...(name === 'bare' && { PLAIN_URL: plainUrl }),
      ...env,
    },
    execArgv: [...own, ...flags],
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}; see ${LOGS}`)));
  });
  return { name, url: `http://127.0.0.1:${port}`, stop: () => stopChild(child) };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}
