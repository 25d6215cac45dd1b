import '#platform/operating/early-signals';
import '#platform/log/source-maps';
import { misspelt } from '#platform/config/setting-files';
import { createLogger } from '#platform/log/logger';
import { redactText } from '#platform/log/redact';
import { SETTINGS, loadKeeperEnvironment } from '#settings/environment';
import { runKeeper } from '#keeper/keeper.setup';

/** Sends the transactions that are due and that anyone may send. See docs/keeper.md. */
async function main(): Promise<void> {
  const environment = loadKeeperEnvironment(process.env);
  const logger = createLogger(environment.LOG_LEVEL, environment.NODE_ENV === 'production');
  for (const hint of misspelt(process.env, SETTINGS)) logger.warn(hint);
  await runKeeper(environment, logger);
  logger.flush(() => process.exit(0));
}

main().catch((error: Error) => {
  process.stderr.write(`${redactText(error.message)}\n`);
  process.exit(1);
});
