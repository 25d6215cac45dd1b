import type { EventEmitter } from 'node:events';
import path from 'node:path';
import type { DataSourceOptions } from 'typeorm';
import type { Environment } from '../config/environment';

/**
 * Every request of the API touches few rows by key, so one generic plan of nested index scans serves all values:
 * no planning per request, and no change of plan with the statistics. The indexer's batches are planned as usual.
 */
const API_SETTINGS = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
  'lock_timeout=800ms',
  'TimeZone=UTC',
];
const INDEXER_SETTINGS = ['jit=off', 'TimeZone=UTC'];

export type Application = 'api' | 'indexer';

/** Connection options shared by the processes, the tests and the migration command line. */
export function dataSourceOptions(
  environment: Pick<Environment, 'DATABASE_URL' | 'DATABASE_POOL_SIZE' | 'statementTimeout'>,
  application: Application = 'api',
): DataSourceOptions {
  const settings = application === 'api' ? API_SETTINGS : INDEXER_SETTINGS;
  return {
    type: 'postgres',
    url: environment.DATABASE_URL,
    applicationName: application,
    poolSize: environment.DATABASE_POOL_SIZE,
    installExtensions: false,
    entities: [path.join(__dirname, '..', '**', '*.entity.{ts,js}')],
    migrations: [path.join(__dirname, '..', '..', 'migrations', '*.{ts,js}')],
    migrationsTableName: 'migrations',
    connectTimeoutMS: 1500,
    extra: {
      options: settings.map((setting) => `-c ${setting}`).join(' '),
      // With the wait for a connection this stays below the 5 s in which every request is answered.
      ...(application === 'api' && {
        pipeline: true,
        statement_timeout: environment.statementTimeout - 1500,
        query_timeout: environment.statementTimeout - 1000,
      }),
      keepAlive: true,
      // A connection that is cut while it is in use emits this event besides failing its statement; without a
      // listener that ends the process.
      onConnect: (client: EventEmitter) => void client.on('error', () => undefined),
      idleTimeoutMillis: 30_000,
    },
  };
}
