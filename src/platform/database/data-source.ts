import path from 'node:path';
import type { PoolConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { type ConnectionSettings, startOptions } from '#platform/postgres/connection-settings';
import { DatabasePool } from '#platform/postgres/database-pool';
import type { PostgresSettings } from '#platform/postgres/postgres.settings';
import { driverWith } from '#platform/postgres/typeorm-internals';

/**
 * Every named statement of the API touches few rows by key, so one generic plan of nested index scans fits all
 * values. Requests then need no planning, and plans do not change with the statistics.
 */
const NAMED_STATEMENT_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  TimeZone: 'UTC',
};
/** PostgreSQL's defaults, for repositories, transactions and reports, but for the time that an operator may set. */
const apiSettings = ({ DATABASE_STATEMENT_TIMEOUT: seconds = 0 }: Settings): ConnectionSettings => ({
  TimeZone: 'UTC',
  ...(seconds > 0 && { statement_timeout: `${seconds}s` }),
});
/** Those of migrations too, which may take long. */
const INDEXER_SETTINGS = { jit: 'off', TimeZone: 'UTC' };

/** With more connections the server only switches between processes more often. */
const MAX_READS = 4;
const MAX_WRITES = 10;

export type Application = 'api' | 'indexer';
type Settings = Pick<PostgresSettings, 'DATABASE_URL' | 'DATABASE_POOL_SIZE' | 'limits'> &
  Partial<Pick<PostgresSettings, 'DATABASE_STATEMENT_TIMEOUT'>>;

/**
 * Divides the connections of an API process. `typeorm` gets those that named statements do not use, but at least a
 * quarter. If there is no connection to spare, named reads and writes share them (`reads` 0). Otherwise slow reads take
 * up to `slow` of those for writes.
 * @param total at least 2
 */
export function poolSizes(total: number): { typeorm: number; reads: number; slow: number; writes: number } {
  const named = Math.min(total - Math.max(1, Math.floor(total / 4)), MAX_READS + MAX_WRITES);
  const reads = Math.min(Math.floor((named - 1) / 2), MAX_READS);
  const writes = named - reads;
  return { typeorm: total - named, reads, slow: Math.max(1, Math.floor(writes / 5)), writes };
}

/** What the connections for named statements need, and `checkSettings` looks for. */
export const namedStatementSettings = ({ limits }: Settings): ConnectionSettings => ({
  ...NAMED_STATEMENT_SETTINGS,
  lock_timeout: `${limits.lockMs}`,
  // Also ends statements of a process that is gone. The pool itself answers every request within 5 s.
  statement_timeout: `${limits.runningMs - limits.sendMs}`,
});

/** Options of the pool for writes. */
export const writePoolOptions = (environment: Settings): PoolConfig => ({
  connectionString: environment.DATABASE_URL,
  application_name: 'api',
  max: poolSizes(environment.DATABASE_POOL_SIZE).writes,
  connectionTimeoutMillis: environment.limits.sendMs,
  options: startOptions(namedStatementSettings(environment)),
  keepAlive: true,
  idleTimeoutMillis: 30_000,
});

/** Of the pool for reads. A pooler may drop their limit; then it is sent with each batch. */
export function readPoolOptions(environment: Settings): PoolConfig {
  const settings = {
    ...namedStatementSettings(environment),
    statement_timeout: `${environment.limits.amongOthersMs}`,
  };
  const { reads } = poolSizes(environment.DATABASE_POOL_SIZE);
  // A standby can serve reads even if the primary has no pool for them.
  return { ...writePoolOptions(environment), max: Math.max(reads, 1), options: startOptions(settings) };
}

/** Connection options of TypeORM for all processes, the tests and the migration command line. */
export function dataSourceOptions(
  environment: Settings,
  application: Application = 'api',
): DataSourceOptions {
  const { DATABASE_POOL_SIZE: total } = environment;
  return {
    type: 'postgres',
    url: environment.DATABASE_URL,
    applicationName: application,
    poolSize: application === 'api' ? poolSizes(total).typeorm : total,
    installExtensions: false,
    // The default is a function of an extension that the database does not have.
    uuidExtension: 'pgcrypto',
    entities: [path.join(__dirname, '../..', '**', '*.entity.{ts,js}')],
    migrations: [path.join(__dirname, '../../..', 'migrations', '*.{ts,js}')],
    migrationsTableName: 'migrations',
    connectTimeoutMS: environment.limits.sendMs,
    driver: driverWith(DatabasePool),
    extra: {
      options: startOptions(application === 'api' ? apiSettings(environment) : INDEXER_SETTINGS),
      keepAlive: true,
      idleTimeoutMillis: 30_000,
    },
  };
}
