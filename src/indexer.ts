import { Logger } from '@nestjs/common';
import { NestLogger, createLogger } from './common/logger';
import { loadEnvironment } from './config/environment';
import { Indexer } from './indexer/indexer';

/** Follows the chain; with `rewind --to N` takes back what came after block N and ends. */
async function main(): Promise<void> {
  const environment = loadEnvironment(process.env, 'indexer');
  const logger = createLogger(environment);
  Logger.overrideLogger(new NestLogger(logger));
  const indexer = new Indexer(environment);
  const [command, option, block] = process.argv.slice(2);
  if (command !== undefined) {
    if (command !== 'rewind' || option !== '--to' || !/^\d+$/.test(block ?? ''))
      throw new Error('usage: indexer [rewind --to BLOCK]');
    await indexer.rewind(Number(block));
    logger.flush(() => process.exit(0));
    return;
  }
  const server = await indexer.status.listen(environment);
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
