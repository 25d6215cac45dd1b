import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readJson } from './files';
import { freePort, listening } from './ports';
import { commandOf, end, endChild, endWithUs, hasEnded } from './processes';

export interface AnvilOptions {
  /** The chain is kept in this file. The node then outlives a killed parent, and the next start ends it. */
  stateFile?: string;
  port?: number;
  chainId?: number;
  extraArgs?: string[];
  /** The default is cancun. */
  hardfork?: string;
}

export interface AnvilNode {
  url: string;
  port: number;
  pid: number;
  chainId: number;
  /** Ends the node. With a stateFile it saves the chain first. Safe to call twice. */
  stop(): Promise<void>;
}

export class AnvilUnavailable extends Error {
  override name = 'AnvilUnavailable';

  constructor(cause: unknown) {
    super('anvil cannot be run: install @foundry-rs/anvil-linux-amd64 or put anvil on the PATH', { cause });
  }
}

interface StateFiles {
  /** Read at the start, never written by anvil. */
  state: string;
  /** Written by anvil in place. A killed anvil leaves half a file, so this is not `state` itself. */
  dump: string;
  pid: string;
  log: string;
}

const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 60_000;
const RPC_TIMEOUT_MS = 1_000;
const POLL_MS = 20;
/** A killed node loses this much of its chain. A save writes everything, idle or not. */
const SAVE_INTERVAL_SECONDS = 10;
/** Without pruning, mining gets slower with every block. Reorganisations of up to 300 blocks still work. */
const KEPT_STATES = 400;

export async function startAnvil(options: AnvilOptions = {}): Promise<AnvilNode> {
  const files = options.stateFile ? await prepare(resolve(options.stateFile)) : undefined;
  const port = options.port ?? (await freePort());
  // Another node that listens there would be mistaken for ours.
  const problem = await listening(port, HOST);
  if (problem) throw problem;
  const log = files ? openSync(files.log, 'w') : ('inherit' as const);
  const child = spawn(findAnvil(), argumentsFor(port, options, files), {
    stdio: ['ignore', 'ignore', log],
    // A process group of its own: Ctrl-C must reach only the parent, which then saves and stops the chain.
    detached: files !== undefined,
    // Pass nothing else: the parent's environment holds secrets.
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  if (log !== 'inherit') closeSync(log);
  const { pid } = child;
  if (pid === undefined) throw new AnvilUnavailable((await once(child, 'error'))[0]);
  child.unref();
  if (files) writeFileSync(files.pid, JSON.stringify({ pid }));
  else endWithUs(child, 'SIGKILL');

  const stop = async (): Promise<void> => {
    if (hasEnded(child)) return;
    await end(pid, 'SIGTERM');
    if (files) promoteDump(files);
  };
  const url = `http://${HOST}:${port}`;
  const until = Date.now() + START_TIMEOUT_MS;
  for (; !hasEnded(child) && Date.now() < until; await delay(POLL_MS)) {
    const chainId = await askChainId(url);
    if (chainId !== undefined) return { url, port, pid, chainId, stop };
  }
  await endChild(child, 'SIGKILL');
  throw new Error(`anvil ended with code ${child.exitCode}${files ? `, see ${files.log}` : ''}`);
}

/** Two nodes must never share a state, so one that a killed parent left is ended first. */
async function prepare(state: string): Promise<StateFiles> {
  mkdirSync(dirname(state), { recursive: true });
  const files = { state, dump: `${state}.next`, pid: `${state}.pid.json`, log: `${state}.log` };
  const { pid } = readJson<{ pid: number }>(files.pid) ?? {};
  // Another process may have its id by now.
  if (pid && commandOf(pid).includes(files.dump)) await end(pid, 'SIGTERM');
  promoteDump(files);
  return files;
}

/** The packaged binary, or else the one in the PATH. */
function findAnvil(): string {
  try {
    return join(dirname(require.resolve('@foundry-rs/anvil-linux-amd64/package.json')), 'bin/anvil');
  } catch {
    return 'anvil';
  }
}

function argumentsFor(port: number, options: AnvilOptions, files?: StateFiles): string[] {
  const args = ['--host', HOST, '--port', `${port}`, '--hardfork', options.hardfork ?? 'cancun', '--silent'];
  args.push('--prune-history', `${KEPT_STATES}`);
  if (options.chainId !== undefined) args.push('--chain-id', `${options.chainId}`);
  if (files) args.push('--dump-state', files.dump, '--state-interval', `${SAVE_INTERVAL_SECONDS}`);
  if (files && existsSync(files.state)) args.push('--load-state', files.state);
  return [...args, ...(options.extraArgs ?? [])];
}

/**
 * Makes the last dump the state if it is complete. Every anvil process creates a genesis block and saves it beside
 * the one that it loaded. The oldest is the chain's; with several, the next process would take any of them.
 */
function promoteDump({ state, dump, pid }: StateFiles): void {
  const saved = readJson<{ blocks: { header: { number: string; timestamp: string } }[] }>(dump);
  if (saved) {
    const isGenesis = ({ header }: (typeof saved.blocks)[number]): boolean => Number(header.number) === 0;
    const [first] = saved.blocks
      .filter(isGenesis)
      .sort((a, b) => Number(a.header.timestamp) - Number(b.header.timestamp));
    saved.blocks = saved.blocks.filter((block) => !isGenesis(block) || block === first);
    writeFileSync(`${state}.whole`, JSON.stringify(saved));
    renameSync(`${state}.whole`, state);
  }
  for (const file of [dump, pid]) rmSync(file, { force: true });
}

async function askChainId(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
      signal: AbortSignal.timeout(RPC_TIMEOUT_MS),
    });
    const { result } = (await response.json()) as { result?: string };
    return result === undefined ? undefined : Number(result);
  } catch {
    return undefined;
  }
}
