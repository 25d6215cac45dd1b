import '#platform/log/source-maps';
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { redactText } from '#platform/log/redact';
import { Migrator, migrationSource } from '#platform/migrating/migrator';
import { within } from '#platform/timing/waits';
import { localRpcUrl } from '#ledger/chain/endpoints';
import { type LocalChain, startChain } from './chain';
import { serveDapp } from './dapp';
import { devKey, poolContracts } from './deploy';
import { read } from './files';
import { beAlone, hostOf, takePorts, urlOf } from './ports';
import { endChild, forkMortal } from './processes';
import { startPostgres, withClient } from './postgres';
import { type Role, announcement, developing, makeRoles, settings, urlAs } from './settings';

const WATCH = process.argv.includes('--watch');
/** `npm start -- --inspect` is meant for the API. The indexer then takes any free port, and says which. */
const DEBUGGER = process.argv.filter((each) => /^--inspect(-brk|-wait)?(=|$)/.test(each));
const KILL_WATCHER_MS = 5000;
const PARENT_POLL_MS = 250;
/** The longest wait for the last lines of a process that has ended. */
const PRINT_MS = 1000;
const DATA = path.resolve('.data');
const RUNNING = path.join(DATA, 'running.json');

type Stop = () => Promise<unknown> | void;
const stops: Stop[] = [];
/** What API and indexer have logged, until all addresses are printed or the start has failed. */
let held: Buffer[] | undefined = [];
let stopping = false;

/**
 * `npm start`: provides whatever DATABASE_URL and RPC_URL do not name, runs the migrations, then the API and the
 * indexer until Ctrl-C. For development only. With `--watch` (`npm run start:dev`) it compiles changed code and
 * restarts API and indexer; database and chain keep running.
 */
async function main(): Promise<void> {
  try {
    process.loadEnvFile();
  } catch {
    // The .env file is optional.
  }
  mkdirSync(DATA, { recursive: true, mode: 0o755 });
  if (!process.env.DATABASE_URL || !process.env.RPC_URL) await beAlone(DATA, RUNNING);
  const ports = await takePorts(process.env);
  if (WATCH) await compileOnChange();
  if (process.env.npm_lifecycle_event) stopWithNpm();
  const chain = process.env.RPC_URL ? undefined : await startLocalChain();
  const environment = settings(process.env, ports, {
    ...(chain && {
      RPC_URL: chain.url,
      CHAIN_ID: `${chain.chainId}`,
      POOL_CONTRACTS: poolContracts(chain.deployment),
      START_BLOCK: `${chain.deployment.startBlock}`,
    }),
    ...developing(process.env),
    JWT_SECRET: process.env.JWT_SECRET || secret(),
    DATABASE_URL: process.env.DATABASE_URL || (await database(chain)),
  });
  tell('Migrating the database');
  const accounts = await migrate(environment.DATABASE_URL!);
  const as = (role: Role): NodeJS.ProcessEnv => ({ ...environment, DATABASE_URL: accounts(role) });
  if (chain) await heal(chain, as('operator'));
  tell('Starting the API');
  await run('main.js', as('api'), DEBUGGER);
  if (environment.RPC_URL) {
    tell('Starting the indexer');
    await run('indexer.js', as('indexer'), DEBUGGER.length > 0 ? ['--inspect=0'] : []);
  }
  const base = urlOf(process.env, ports.api);
  // For `npm run verify` and `npm run replay`.
  const { RPC_URL: rpc, DATABASE_URL } = environment;
  const running = { api: base, rpc, database: process.env.DATABASE_URL ? undefined : DATABASE_URL };
  writeFileSync(RUNNING, JSON.stringify(running), { mode: 0o600 });
  const page = await dapp(base, ports.page, environment);
  say(announcement(process.env, environment, chain && { ...chain, key: devKey() }, page));
  printLogs();
}

/** @returns its address; undefined where nobody could pay on it */
async function dapp(api: string, port: number, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (!environment.RPC_URL || environment.NODE_ENV === 'production') return undefined;
  tell(WATCH ? 'Starting the page' : 'Building the page');
  const rpcUrl = localRpcUrl({ NODE_ENV: 'development', RPC_URL: environment.RPC_URL });
  const page = await serveDapp({ api, rpcUrl, host: hostOf(process.env), port, watch: WATCH });
  stops.push(() => page.stop());
  return page.url;
}

async function startLocalChain(): Promise<LocalChain | undefined> {
  const chain = await startChain(DATA, tell);
  if (!chain) return undefined;
  stops.push(() => chain.stop());
  if (chain.replaced)
    say(
      'The local chain was lost, or lacks contracts of this version. A new chain and an empty database were made; the old data are kept.',
    );
  return chain;
}

/** One database per chain, named by the genesis block, so that the data of two chains never mix. */
async function database(chain: LocalChain | undefined): Promise<string> {
  const name = chain ? `savings_${chain.deployment.genesisHash.slice(2, 10)}` : 'savings';
  tell('Starting PostgreSQL');
  const logged = process.env.LOG_SQL && { log_min_duration_statement: '0', log_parameter_max_length: '0' };
  const dir = path.join(DATA, 'postgres');
  const postgres = await startPostgres({ dir, database: name, settings: { ...logged } });
  stops.push(() => postgres.stop());
  return postgres.url;
}

/**
 * On a server of our own each part gets its account, as in production, so that a right that is missing is missed here. A
 * server that was given keeps its accounts.
 * @returns the address of the database for a role
 */
async function migrate(url: string): Promise<(role: Role) => string> {
  const isOurs = !process.env.DATABASE_URL;
  const { password } = new URL(url);
  if (isOurs) await withClient(url, (client) => makeRoles(client, password));
  const source = await migrationSource(url).initialize();
  try {
    const migrator = new Migrator(source, () => undefined);
    await migrator.run();
    await migrator.grant();
  } finally {
    await source.destroy();
  }
  return (role) => (isOurs ? urlAs(url, role, password) : url);
}

/** A killed chain may be older than what the database knows of it. All data are then read again. */
async function heal(chain: LocalChain, environment: NodeJS.ProcessEnv): Promise<void> {
  const { rows } = await withClient(environment.DATABASE_URL!, (client) =>
    client.query<{ hash: string }>('SELECT block_hash AS hash FROM chain_cursor'),
  );
  if (!rows[0] || (await chain.has(rows[0].hash))) return;
  say('The local chain was killed and has lost its last blocks; the indexer reads the whole chain again.');
  const rewind = fork(path.join(__dirname, '../indexer.js'), ['rewind', '--to', '0'], { env: environment });
  const [code] = (await once(rewind, 'exit')) as [number | null];
  if (code !== 0)
    throw new Error('The database cannot be brought back to the chain: remove .data to start over.');
}

/** A random JWT secret. It is kept, so that tokens survive a restart. */
function secret(): string {
  const file = path.join(DATA, 'jwt-secret');
  const kept = read(file);
  if (kept) return kept;
  const made = randomBytes(32).toString('hex');
  writeFileSync(file, made, { mode: 0o600 });
  return made;
}

/** Starts one of the service's processes and waits until it listens. Its log is printed after our own messages. */
async function run(script: string, environment: NodeJS.ProcessEnv, debug: string[]): Promise<void> {
  // detached: Ctrl-C in a terminal reaches only this process, which stops the others in order.
  const execArgv = [...(WATCH ? ['--watch', '--watch-preserve-output'] : []), ...debug];
  const child = fork(path.join(__dirname, '..', script), {
    env: environment,
    detached: true,
    execArgv,
    stdio: ['inherit', 'pipe', 'inherit', 'ipc'],
  });
  child.stdout!.on('data', (lines: Buffer) => held?.push(lines) ?? process.stdout.write(lines));
  const printed = once(child.stdout!, 'close');
  stops.push(async () => {
    await stopChild(child);
    await within(PRINT_MS, printed);
  });
  child.on('exit', (code) => {
    if (!stopping) void stop(code ?? 1);
  });
  await new Promise((resolve) => child.once('message', resolve));
}

/** @returns after the first complete compilation */
async function compileOnChange(): Promise<void> {
  const options = ['--watch', '--preserveWatchOutput', '--project', 'tsconfig.build.json'];
  const compiler = forkMortal(require.resolve('typescript/bin/tsc'), options);
  stops.push(() => stopChild(compiler));
  await new Promise<void>((resolve, reject) => {
    compiler.once('exit', () => reject(new Error('The compiler ended.')));
    compiler.stdout!.on('data', (text: Buffer) => {
      process.stderr.write(text);
      if (text.includes('Watching for file changes')) resolve();
    });
  });
}

/** Node's watcher can miss the signal during a restart. The process it watches ends without its parent. */
const stopChild = (child: ChildProcess): Promise<void> =>
  endChild(child, 'SIGTERM', WATCH ? KILL_WATCHER_MS : Infinity);

/** Stops everything that was started, newest first. */
async function stop(code: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  printLogs();
  say('Stopping.');
  for (const each of stops.reverse()) {
    try {
      await each();
    } catch (error) {
      say(redactText((error as Error).message));
    }
  }
  process.exit(code);
}

/** Stops when npm is killed, because npm cannot forward that signal. Its scripts use `exec`, so npm is the parent. */
function stopWithNpm(): void {
  const npm = process.ppid;
  setInterval(() => void (process.ppid !== npm && stop(0)), PARENT_POLL_MS).unref();
}

function printLogs(): void {
  held?.forEach((lines) => process.stdout.write(lines));
  held = undefined;
}

const tell = (step: string): void => say(`${(performance.now() / 1000).toFixed(1).padStart(6)} s  ${step}`);
const say = (text: string): void => void process.stderr.write(`${text}\n`);

// The reader may go: `npm start | head`.
process.stdout.on('error', () => undefined);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
main().catch((error: Error) => {
  say(redactText(error.message));
  void stop(1);
});
