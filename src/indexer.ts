import '#platform/operating/early-signals';
import { NestFactory } from '@nestjs/core';
import { existsSync, readdirSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import type { Logger } from 'pino';
import '#platform/log/source-maps';
import { misspelt } from '#platform/config/setting-files';
import { createLogger } from '#platform/log/logger';
import { NestLogger } from '#platform/log/nest-logger';
import { redactText } from '#platform/log/redact';
import { recorded, recordsTable, readRecords } from '#platform/operating/records';
import { type Environment, SETTINGS, loadEnvironment } from '#settings/environment';
import { ContractAdapters } from '#indexer/adapters/contract-adapters';
import { RewindModule } from '#indexer/indexer.module';
import { runIndexer } from '#indexer/indexer.setup';
import { type AdapterReport, adapterReport, readAbi } from '#indexer/leading/adapter-report';
import { Rewind } from '#indexer/leading/rewind';
import { replay } from '#indexer/replaying/replay';
import { asTable, setAsideEvents } from '#indexer/leading/set-aside-list';

const THREADS = '/proc/self/task';
const USAGE =
  'usage: indexer [rewind --to BLOCK | rewind --contract ADDRESS [--to BLOCK] | replay [--json] | set-aside [--limit N] [--json] | records [--limit N] [--json] | adapter --abi FILE --address ADDRESS [--as TYPE[:NAME]] [--from BLOCK]]';
const ADDRESS = '(0x[0-9a-f]{40})';
const REWINDING = new RegExp(
  `^(?:--contract ${ADDRESS}(?: --to (\\d+))?|--to (\\d+)(?: --contract ${ADDRESS})?)$`,
  'i',
);
const EXAMINING = new RegExp(
  `^--abi (.+) --address ${ADDRESS}(?: --as ([a-z]+(?::[a-z0-9-]+)?))?(?: --from (\\d{1,15}))?$`,
  'i',
);

/**
 * Follows the chain. `rewind --to N` takes back what came after block N and ends, of one contract alone if one is named,
 * and everything of it without a block;
 * `replay` rebuilds everything that is derived from the events, and ends; `set-aside` lists the events that are kept
 * without effect, and `records` what operators did, newest first, and they end; `adapter` reports how a contract would be
 * followed, and ends.
 */
async function main(): Promise<void> {
  const command = readCommand(process.argv.slice(2));
  if (command?.name === 'adapter') {
    const { lines, fits } = await examine(process.env, command);
    process.stdout.write(lines.map((line) => `${line}\n`).join(''));
    process.exitCode = fits ? 0 : 1;
    return;
  }
  const asksNode = command === undefined || command.name === 'rewind';
  const environment = loadEnvironment(process.env, asksNode ? 'indexer' : 'ledger');
  if (command?.name === 'set-aside' || command?.name === 'records') return list(environment, command);
  giveWay();
  if (command?.name === 'replay') {
    process.exitCode = await replay(environment, command.json);
    return;
  }
  const logger = createLogger(environment.LOG_LEVEL, environment.NODE_ENV === 'production');
  for (const hint of misspelt(process.env, SETTINGS)) logger.warn(hint);
  if (command) await rewind(environment, logger, command);
  else await runIndexer(environment, logger);
  logger.flush(() => process.exit(0));
}

/** Compares the contract with its ABI and the adapter that POOL_CONTRACTS, or `as`, names for it. Needs no database. */
export async function examine(
  variables: NodeJS.ProcessEnv,
  { abi, address, as, from }: Extract<Command, { name: 'adapter' }>,
): Promise<AdapterReport> {
  const named = as === undefined ? {} : { POOL_CONTRACTS: `${as}=${address}`, START_BLOCK: '0' };
  const environment = loadEnvironment({ DATABASE_URL: 'postgres://none', ...variables, ...named }, 'indexer');
  const app = await NestFactory.createApplicationContext(RewindModule.register(environment), {
    logger: ['error'],
    abortOnError: false,
  });
  const adapter = app.get(ContractAdapters).of(address);
  await app.close();
  return adapterReport({
    rpcUrl: environment.RPC_URL!,
    address,
    abi: readAbi(abi),
    from: from ?? environment.START_BLOCK.of(address),
    adapter,
  });
}

async function list(
  { DATABASE_URL }: Environment,
  { name, limit, json }: { name: 'set-aside' | 'records'; limit: number; json: boolean },
): Promise<void> {
  const print = <Row>(rows: Row[], table: (rows: Row[]) => string): unknown =>
    process.stdout.write(json ? `${JSON.stringify(rows, null, 2)}\n` : table(rows));
  if (name === 'records') print(await readRecords(DATABASE_URL, limit), recordsTable);
  else print(await setAsideEvents(DATABASE_URL, limit), asTable);
}

async function rewind(
  environment: Environment,
  logger: Logger,
  { to, contract }: { to?: number; contract?: string },
): Promise<void> {
  const app = await NestFactory.createApplicationContext(RewindModule.register(environment), {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  const { DATABASE_URL, OPERATOR } = environment;
  const given = [...(contract ? ['--contract', contract] : []), ...(to === undefined ? [] : ['--to', to])];
  await recorded(
    DATABASE_URL,
    { command: 'rewind', arguments: given.join(' '), by: OPERATOR },
    () => app.get(Rewind).to(to, contract),
    (undone) => ({ undone }),
  );
  await app.close();
}

/** Where it shares cores with the API, requests come first. On Linux each thread has a priority of its own. */
function giveWay(): void {
  const { PRIORITY_BELOW_NORMAL } = constants.priority;
  const threads = existsSync(THREADS) ? readdirSync(THREADS).map(Number) : [process.pid];
  // Only some accounts may raise a priority that is lower already.
  for (const thread of threads)
    try {
      if (getPriority(thread) < PRIORITY_BELOW_NORMAL) setPriority(thread, PRIORITY_BELOW_NORMAL);
    } catch (error) {
      // It may have ended meanwhile.
      if ((error as { info?: { code?: string } }).info?.code !== 'ESRCH') throw error;
    }
}

type Command =
  | { name: 'rewind'; to?: number; contract?: string }
  | { name: 'replay'; json: boolean }
  | { name: 'set-aside'; limit: number; json: boolean }
  | { name: 'records'; limit: number; json: boolean }
  | { name: 'adapter'; abi: string; address: string; as?: string; from?: number };

export function readCommand([name, ...options]: string[]): Command | undefined {
  if (name === undefined) return undefined;
  const text = options.join(' ');
  const [, contract, from, to = from, of = contract] = REWINDING.exec(text) ?? [];
  if (name === 'rewind' && (to ?? of))
    return { name, to: to === undefined ? undefined : Number(to), contract: of?.toLowerCase() };
  if (name === 'replay' && /^(--json)?$/.test(text)) return { name, json: text !== '' };
  const [, abi, address, as, first] = EXAMINING.exec(text) ?? [];
  if (name === 'adapter' && abi)
    return { name, abi, address: address.toLowerCase(), as, from: first ? Number(first) : undefined };
  const list = /^(?:--limit (\d{1,9}))? ?(--json)?$/.exec(text);
  const listed = { limit: Number(list?.[1] ?? 100), json: Boolean(list?.[2]) };
  if (name === 'set-aside' && list) return { name, ...listed };
  if (name === 'records' && list) return { name, ...listed };
  throw new Error(USAGE);
}

if (require.main === module)
  main().catch((error: Error) => {
    process.stderr.write(`${redactText(error.message)}\n`);
    process.exit(1);
  });
