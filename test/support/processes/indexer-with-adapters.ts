import 'reflect-metadata';
import { createLogger } from '#platform/log/logger';
import { loadEnvironment } from '#settings/environment';
import { runIndexer } from '#indexer/indexer.setup';
import { ForeignModule } from '../chain/foreign-adapters';

/** The indexer as src/indexer.ts runs it, with adapters for the contracts of ForeignPools.sol. */
async function main(): Promise<void> {
  const environment = loadEnvironment(process.env, 'indexer');
  const logger = createLogger(environment.LOG_LEVEL, environment.NODE_ENV === 'production');
  await runIndexer(environment, logger, { modules: [ForeignModule] });
  process.exit(0);
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
