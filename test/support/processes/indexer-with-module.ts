import 'reflect-metadata';
import { createLogger } from '#platform/log/logger';
import { loadEnvironment } from '#settings/environment';
import { runIndexer } from '#indexer/indexer.setup';
import { Watcher, WatcherModule } from './indexer-module';

/** The indexer as src/indexer.ts runs it, with a module more. Writes what the module sees. */
async function main(): Promise<void> {
  const environment = loadEnvironment(process.env, 'indexer');
  // A signal that comes earlier ends it as it ends any process.
  process.on('newListener', (event) => event === 'SIGINT' && process.stdout.write('takes signals\n'));
  await runIndexer(environment, createLogger(environment.LOG_LEVEL, environment.NODE_ENV === 'production'), {
    modules: [WatcherModule],
    prepare: (app) => {
      app.get(Watcher).tell = (line) => process.stdout.write(`${line}\n`);
    },
  });
  process.exit(0);
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
