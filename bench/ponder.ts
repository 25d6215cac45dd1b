import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, openSync, closeSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '#dev/ports';
import { announce, newPools } from './chain';
import { peakMemory, processCpuUs } from './cpu';
import { type BenchDatabase, using } from './database';
import { median } from './drive';
import type { NodeOrders } from './generated-node';
import { Helper } from './helper';
import { blockOf, startIndexer } from './indexer-process';
import { Progress, keep, say, table } from './output';
import { CONTRACT, POOL_CONTRACTS } from './peers';
import type { PonderNodeReport } from './ponder-node';

const EVENTS = 100_000;
const ROUNDS = 3;
const QUICK = { events: 20_000, rounds: 1 };
const PER_BLOCK = 100;

/** The application, and where it is installed with ponder itself. */
const SOURCE = path.join(__dirname, 'ponder');
const FOLDER = path.join(__dirname, '.data', 'ponder');
const LOGS = path.join(__dirname, '.data', 'logs');
/** ponder sends 20 requests a second to a host. As many names of the same node lift that beyond what it can use. */
const MANY_HOSTS = 25;
/** Interval between looks at how far it is. */
const LOOK_MS = 20;
const LIMIT_MS = 300_000;
/** ponder is given so long to end by itself. */
const END_MS = 15_000;

interface Run {
  /** From the start of the process until all events are applied. */
  seconds: number;
  /** CPU of the process and of PostgreSQL, in seconds. */
  cpu: number;
  postgres: number;
  /** The most memory of the process, in MiB. */
  memory: number;
  requests: number;
}

interface Measured {
  run: Omit<Run, 'requests'>;
  /** What was written: transactions, and the sum of all pools' balances. */
  written: { transactions: string; balance: string };
}

interface Task {
  database: BenchDatabase;
  empty: string;
  port: number;
  events: number;
  head: number;
}

const WAYS: Record<string, (task: Task) => Promise<Measured>> = {
  indexer: runIndexer,
  ponder: (task) => runPonder(task, { hosts: 1, cached: false }),
  'ponder, throttle lifted': (task) => runPonder(task, { hosts: MANY_HOSTS, cached: false }),
  // Right behind the one above, whose raw logs it finds.
  'ponder, cached': (task) => runPonder(task, { hosts: MANY_HOSTS, cached: true }),
};

/**
 * The indexer and ponder on the same generated node, in turn, each from the start of its process. Writes
 * results-ponder.json, unless it is `quick`.
 */
export async function comparePonder(database: BenchDatabase, { quick }: { quick: boolean }): Promise<void> {
  install();
  const { events, rounds: count } = quick ? QUICK : { events: EVENTS, rounds: ROUNDS };
  const head = events / PER_BLOCK;
  const pools = newPools(Array.from({ length: 10 }, (_, i) => `0x${i}${'d'.repeat(39)}`));
  const empty = await database.made('ponder_beside', (client) => announce(client, CONTRACT, pools));
  const names = Object.keys(WAYS);
  const progress = new Progress('Indexer beside ponder', count * names.length);
  const rounds: Record<string, Run>[] = [];
  for (let round = 0; round < count; round++) {
    const runs: Record<string, Run> = {};
    for (const name of names) {
      progress.step(`round ${round + 1}: ${name}`, 0);
      const orders: NodeOrders = [CONTRACT, pools, PER_BLOCK, head];
      const [node, { port }] = await Helper.start<PonderNodeReport>('ponder-node', orders);
      await database.quiet();
      const { run, written } = await WAYS[name]({ database, empty, port, events, head });
      const { requests } = await node.end();
      check(name, written, events);
      runs[name] = { ...run, requests: Object.values(requests).reduce((sum, each) => sum + each, 0) };
      progress.step(`round ${round + 1}: ${name}`);
    }
    rounds.push(runs);
  }
  progress.end();
  report(rounds, events);
  keep('results-ponder.json', { events, rounds }, { quick });
}

/** Into a folder of its own, as it is no dependency of the project. */
function install(): void {
  mkdirSync(FOLDER, { recursive: true });
  mkdirSync(LOGS, { recursive: true });
  cpSync(SOURCE, FOLDER, { recursive: true });
  say(`installing ponder in ${path.relative(process.cwd(), FOLDER)}`);
  const flags = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', flags, { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error('ponder could not be installed');
}

async function runIndexer({ database, empty, port, head }: Task): Promise<Measured> {
  const url = await database.copy(empty, 'ponder_beside_indexer');
  const settings = { RPC_URL: `http://127.0.0.1:${port}`, POOL_CONTRACTS };
  const before = database.cpuUs();
  const begun = performance.now();
  const { pid, stop } = await startIndexer(url, settings);
  try {
    return await using(url, async (client) => {
      while (((await blockOf(client)) ?? 0) < head) await waiting(begun);
      const run = measured(begun, pid, database, before);
      const { rows } = await client.query<Measured['written']>(`
        SELECT count(*) AS transactions, (SELECT sum(balance - pending_balance) FROM pools)::text AS balance
        FROM transactions WHERE status = 'CONFIRMED'`);
      return { run, written: rows[0] };
    });
  } finally {
    await stop();
  }
}

/** @param how `cached`: with the raw logs that the last run has left */
async function runPonder(task: Task, how: { hosts: number; cached: boolean }): Promise<Measured> {
  const { database, port: node, head } = task;
  const url = await database.plain('ponder_beside_ponder', { keep: how.cached });
  const port = await freePort();
  const schema = `app_${port}`;
  const hosts = Array.from({ length: how.hosts }, (_, i) => `http://127.0.0.${i + 1}:${node}`);
  const log = openSync(path.join(LOGS, 'ponder.log'), 'a');
  const before = database.cpuUs();
  const begun = performance.now();
  const arguments_ = ['start', '--schema', schema, '-p', `${port}`, '--log-format', 'json'];
  const child = spawn(process.execPath, ['node_modules/ponder/dist/esm/bin/ponder.js', ...arguments_], {
    cwd: FOLDER,
    stdio: ['ignore', log, log],
    env: {
      PATH: process.env.PATH,
      HOME: FOLDER,
      PONDER_TELEMETRY_DISABLED: '1',
      DATABASE_URL: url,
      PEER_RPC: hosts.join(','),
      PEER_CONTRACT: CONTRACT,
      PEER_HEAD: `${head}`,
    },
  });
  closeSync(log);
  try {
    while (!(await isReady(port))) {
      if (child.exitCode !== null) throw new Error(`ponder has ended: see ${LOGS}`);
      await waiting(begun);
    }
    const run = measured(begun, child.pid!, database, before);
    const written = await using(url, async (client) => {
      const { rows } = await client.query<Measured['written']>(`
        SELECT count(*) AS transactions, (SELECT sum(total) FROM ${schema}.totals)::text AS balance
        FROM ${schema}.transactions`);
      return rows[0];
    });
    return { run, written };
  } finally {
    await ended(child);
  }
}

/** It answers so once it has handled all events up to the last block. */
async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/ready`)).status === 200;
  } catch {
    return false; // it does not listen yet
  }
}

async function waiting(begun: number): Promise<void> {
  if (performance.now() - begun > LIMIT_MS) throw new Error('this takes too long');
  await sleep(LOOK_MS);
}

function measured(begun: number, pid: number, database: BenchDatabase, before: number): Measured['run'] {
  return {
    seconds: (performance.now() - begun) / 1000,
    cpu: processCpuUs(pid) / 1e6,
    postgres: (database.cpuUs() - before) / 1e6,
    memory: peakMemory(pid),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const last = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await exit;
  clearTimeout(last);
}

/** The generated deposits are of 1,001 units, 1,002 and so on. @throws Error when they are not what was written */
function check(name: string, { transactions, balance }: Measured['written'], events: number): void {
  const expected = 1000n * BigInt(events) + (BigInt(events) * BigInt(events + 1)) / 2n;
  if (Number(transactions) !== events || BigInt(balance) !== expected)
    throw new Error(`${name} wrote ${transactions} of ${events} events, in all ${balance}, not ${expected}`);
}

function report(rounds: Record<string, Run>[], events: number): void {
  const middle = (name: string, what: keyof Run): number => median(rounds.map((runs) => runs[name][what]));
  const rows = Object.keys(WAYS).map((name) => [
    name,
    Math.round(events / middle(name, 'seconds')).toLocaleString('en'),
    (middle(name, 'seconds') / middle('indexer', 'seconds')).toFixed(2),
    middle(name, 'cpu').toFixed(1),
    middle(name, 'postgres').toFixed(1),
    middle(name, 'memory').toFixed(0),
    middle(name, 'requests').toLocaleString('en'),
  ]);
  const head = [
    `${events.toLocaleString('en')} events`,
    'events/s',
    'times the indexer',
    'CPU, s',
    'PostgreSQL, s',
    'memory, MiB',
    'requests',
  ];
  console.log(table(head, rows));
}
