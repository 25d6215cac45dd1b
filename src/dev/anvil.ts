import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './postgres-host';
import { commandOf } from './processes';

export interface AnvilOptions {
  /** The chain is kept in this file. The node then outlives a killed parent, and the next start takes it over. */
  stateFile?: string;
  port?: number;
  chainId?: number;
  /** Seconds between blocks. Unset: every transaction is mined at once. */
  blockTime?: number;
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
const STOP_TIMEOUT_MS = 10_000;
const RPC_TIMEOUT_MS = 1_000;
const POLL_MS = 20;
/** A killed node loses this much of its chain. A save writes everything, idle or not. */
const SAVE_INTERVAL_SECONDS = 10;
/** Without pruning, mining gets slower with every block. Reorganisations of up to 300 blocks still work. */
const KEPT_STATES = 400;

/** Nodes that must not outlive this process. */
const ephemeral = new Set<number>();
process.on('exit', () => ephemeral.forEach((pid) => send('SIGKILL', pid)));

export async function startAnvil(options: AnvilOptions = {}): Promise<AnvilNode> {
  if (!options.stateFile) return launch(options);

  const state = resolve(options.stateFile);
  const files = { state, dump: `${state}.next`, pid: `${state}.pid.json`, log: `${state}.log` };
  mkdirSync(dirname(state), { recursive: true });
  const running = await takeOver(files, options);
  if (running) return running;
  promoteDump(files);
  return launch(options, files);
}

/** The node that a killed parent left, if it fits. Otherwise it is ended: two nodes must never share a state. */
async function takeOver(files: StateFiles, options: AnvilOptions): Promise<AnvilNode | undefined> {
  const { pid, port } = readJson<{ pid: number; port: number }>(files.pid) ?? {};
  if (!pid || !port || !isRunning(pid, files)) return undefined;
  const chainId = await askChainId(port);
  const samePort = (options.port ?? port) === port;
  const sameChain = (options.chainId ?? chainId) === chainId;
  if (chainId !== undefined && samePort && sameChain) return handle(pid, port, chainId, files);
  await terminate(pid, port, files);
  return undefined;
}

async function launch(options: AnvilOptions, files?: StateFiles): Promise<AnvilNode> {
  // The port must be free; otherwise another node on it would be mistaken for ours.
  const port = await freePort(options.port);
  const log = files && openSync(files.log, 'w');
  const child = spawn(findAnvil(), argumentsFor(port, options, files), {
    stdio: ['ignore', 'ignore', log ?? 'inherit'],
    // A process group of its own: Ctrl-C must reach only the parent, which then saves and stops the chain.
    detached: files !== undefined,
    // Pass nothing else: the parent's environment holds secrets.
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  if (log !== undefined) closeSync(log);
  const { pid } = child;
  if (pid === undefined) throw new AnvilUnavailable((await once(child, 'error'))[0]);
  child.unref();
  if (files) writeFileSync(files.pid, JSON.stringify({ pid, port }));
  else ephemeral.add(pid);

  const polling = new AbortController();
  const ended = new Promise<never>((_, reject) => {
    child.once('exit', (code) => {
      ephemeral.delete(pid);
      reject(new Error(`anvil ended with code ${code}${files ? `, see ${files.log}` : ''}`));
    });
  });
  try {
    const chainId = await Promise.race([waitForRpc(port, polling.signal), ended]);
    return handle(pid, port, chainId, files);
  } catch (error) {
    send('SIGKILL', pid);
    throw error;
  } finally {
    polling.abort();
  }
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
  if (options.blockTime !== undefined) args.push('--block-time', `${options.blockTime}`);
  if (files) args.push('--dump-state', files.dump, '--state-interval', `${SAVE_INTERVAL_SECONDS}`);
  if (files && existsSync(files.state)) args.push('--load-state', files.state);
  return [...args, ...(options.extraArgs ?? [])];
}

function handle(pid: number, port: number, chainId: number, files?: StateFiles): AnvilNode {
  return { url: `http://${HOST}:${port}`, port, pid, chainId, stop: () => terminate(pid, port, files) };
}

async function terminate(pid: number, port: number, files?: StateFiles): Promise<void> {
  if (!isRunning(pid, files)) return;
  send('SIGTERM', pid);
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (isRunning(pid, files)) {
    if (Date.now() > deadline) send('SIGKILL', pid);
    await delay(POLL_MS);
  }
  // An ending process loses its command line first and its sockets later.
  for (const until = Date.now() + STOP_TIMEOUT_MS; Date.now() < until && !(await isFree(port));)
    await delay(POLL_MS);
  if (!files) return;
  rmSync(files.pid, { force: true });
  promoteDump(files);
}

/**
 * Makes the last dump the state if it is complete. Every anvil process creates a genesis block and saves it beside
 * the one that it loaded. The oldest is the chain's; with several, the next process would take any of them.
 */
function promoteDump({ state, dump }: StateFiles): void {
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
  rmSync(dump, { force: true });
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

/** Whether the process is still that node, not another process that reuses its id. */
function isRunning(pid: number, files?: StateFiles): boolean {
  const command = commandOf(pid);
  return command.includes('anvil') && command.includes(files?.dump ?? '');
}

const isFree = (port: number): Promise<boolean> =>
  freePort(port).then(
    () => true,
    () => false,
  );

function send(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function waitForRpc(port: number, signal: AbortSignal): Promise<number> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!signal.aborted && Date.now() < deadline) {
    const chainId = await askChainId(port);
    if (chainId !== undefined) return chainId;
    await delay(POLL_MS);
  }
  throw new Error(`anvil did not answer on port ${port}`);
}

async function askChainId(port: number): Promise<number | undefined> {
  try {
    const response = await fetch(`http://${HOST}:${port}`, {
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
