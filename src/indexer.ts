import { NestFactory } from '@nestjs/core';
import { createLogger } from './common/logger';
import { NestLogger } from './common/nest-logger';
import { loadEnvironment } from './config/environment';
import { IndexerModule } from './indexer/indexer.module';
import { Indexer } from './indexer/indexer.service';

/** Follows the chain; with `rewind --to N` takes back what came after block N and ends. */
async function main(): Promise<void> {
  const environment = loadEnvironment(process.env, 'indexer');
  const logger = createLogger(environment);
  const app = await NestFactory.createApplicationContext(IndexerModule.register(environment), {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  const indexer = app.get(Indexer);
  const [command, option, block] = process.argv.slice(2);
  if (command !== undefined) {
    if (command !== 'rewind' || option !== '--to' || !/^\d+$/.test(block ?? ''))
      throw new Error('usage: indexer [rewind --to BLOCK]');
    await indexer.rewind(Number(block));
    logger.flush(() => process.exit(0));
    return;
  }
  const server = await indexer.telemetry.listen(environment);
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(event, () => indexer.stop());
  const run = indexer.run();
  process.send?.({ port: (server.address() as { port: number }).port });
  await run;
  server.close();
  server.closeAllConnections();
  logger.flush(() => process.exit(0));
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
