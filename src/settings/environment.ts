import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { ProcessSettings } from '#platform/config/process.settings';
import { type AreaClass, type SettingsOf, namesOf, readSettings } from '#platform/config/settings';
import { HttpSettings } from '#platform/http/http.settings';
import { LimitsSettings } from '#platform/limits/limits.settings';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { ChainSettings } from '#ledger/chain/chain.settings';
import { AccessSettings } from '#features/access/access.settings';
import { AuthSettings } from '#features/auth/auth.settings';
import { PoolsSettings } from '#features/pools/pools.settings';
import { IndexerSettings } from './indexer.settings';
import { KeeperSettings } from './keeper.settings';

const EXTENSIONS = path.join(__dirname, '../extensions');

/** Areas of the extensions that are there: the exports of their `*.settings` files. */
const OF_EXTENSIONS = (
  existsSync(EXTENSIONS) ? readdirSync(EXTENSIONS, { recursive: true, encoding: 'utf8' }) : []
)
  .filter((file) => /\.settings\.[jt]s$/.test(file))
  .sort()
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  .flatMap((file) => Object.values(require(path.join(EXTENSIONS, file)) as Record<string, AreaClass>));

/** Every area. Each process reads all of them, so that a wrong value is found wherever it is set. */
export const AREAS = [
  ProcessSettings,
  PostgresSettings,
  HttpSettings,
  ChainSettings,
  AccessSettings,
  AuthSettings,
  LimitsSettings,
  PoolsSettings,
  ...OF_EXTENSIONS,
  IndexerSettings,
  KeeperSettings,
] as const;

/** What the keeper reads: it has neither a database nor sessions. */
export const KEEPER_AREAS = [ProcessSettings, HttpSettings, KeeperSettings] as const;

export type KeeperEnvironment = SettingsOf<typeof KEEPER_AREAS>;

/**
 * Every setting of the service but those of extensions, read from the environment once at start. `.env.example` lists
 * the names of all. Extensions inject their areas.
 */
export type Environment = SettingsOf<typeof AREAS>;

export const SETTINGS = [...new Set(AREAS.flatMap((area) => namesOf(area)))].sort();

/** What a process needs: always, or in production. */
const NEEDED: Record<'api' | 'indexer' | 'ledger', Record<'always' | 'production', (keyof Environment)[]>> = {
  api: { always: ['JWT_SECRET'], production: ['CHAIN_ID', 'SIWE_DOMAINS', 'METRICS_TOKEN'] },
  indexer: { always: ['RPC_URL'], production: [] },
  // The indexer's commands that ask no node.
  ledger: { always: [], production: [] },
};

/**
 * Reads and checks the environment of a process.
 * @throws Error that names every wrong or missing variable, one per line, but never its value
 */
export function loadEnvironment(
  variables: NodeJS.ProcessEnv,
  process: keyof typeof NEEDED = 'api',
): Environment {
  return readSettings(AREAS, variables, NEEDED[process]);
}

/** Reads and checks what the keeper needs. @throws as `loadEnvironment` does */
export const loadKeeperEnvironment = (variables: NodeJS.ProcessEnv): KeeperEnvironment =>
  readSettings(KEEPER_AREAS, variables, { always: ['RPC_URL', 'KEEPER_KEY'], production: ['CHAIN_ID'] });

/** The defaults, for what needs no database and no secret, such as the OpenAPI document. */
export const defaultEnvironment = (): Environment =>
  Object.assign({}, ...AREAS.map((area) => new area())) as Environment;
