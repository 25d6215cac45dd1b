import { NestFactory } from '@nestjs/core';
import { createLogger } from './common/logger';
import { NestLogger } from './common/nest-logger';
import { redactText } from './common/redact';
import { loadEnvironment } from './config/environment';
import { IndexerModule } from './indexer/indexer.module';
import { Indexer } from './indexer/indexer.service';
import { asTable, setAsideEvents } from './indexer/set-aside';
import { verifyContinuously } from './indexer/verification';

const USAGE = 'usage: indexer [rewind --to BLOCK | set-aside [--limit N] [--json]]';

/**
 * Follows the chain. `rewind --to N` takes back what came after block N and ends; `set-aside` lists the events that
 * are kept without effect, newest first, and ends.
 */
async function main(): Promise<void> {
  const environment = loadEnvironment(process.env, 'indexer');
  const command = readCommand();
  if (command?.name === 'set-aside') {
    const events = await setAsideEvents(environment.DATABASE_URL, command.limit);
    process.stdout.write(command.json ? `${JSON.stringify(events, null, 2)}\n` : asTable(events));
    return;
  }
  const logger = createLogger(environment);
  const app = await NestFactory.createApplicationContext(IndexerModule.register(environment), {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  const indexer = app.get(Indexer);
  if (command) {
    await indexer.rewind(command.to);
    logger.flush(() => process.exit(0));
    return;
  }
  const server = await indexer.telemetry.listen(environment);
  const stop = new AbortController();
  stop.signal.addEventListener('abort', () => indexer.stop());
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(event, () => stop.abort());
  const run = indexer.run();
  void verifyContinuously(environment, indexer.telemetry, stop.signal);
  process.send?.({ port: (server.address() as { port: number }).port });
  await run;
  stop.abort();
  server.close();
  server.closeAllConnections();
  logger.flush(() => process.exit(0));
}

type Command = { name: 'rewind'; to: number } | { name: 'set-aside'; limit: number; json: boolean };

function readCommand(): Command | undefined {
  const [name, ...options] = process.argv.slice(2);
  if (name === undefined) return undefined;
  const text = options.join(' ');
  const to = /^--to (\d+)$/.exec(text)?.[1];
  if (name === 'rewind' && to !== undefined) return { name, to: Number(to) };
  const list = /^(?:--limit (\d{1,9}))? ?(--json)?$/.exec(text);
  if (name === 'set-aside' && list) return { name, limit: Number(list[1] ?? 100), json: Boolean(list[2]) };
  throw new Error(USAGE);
}

main().catch((error: Error) => {
  process.stderr.write(`${redactText(error.message)}\n`);
  process.exit(1);
});
