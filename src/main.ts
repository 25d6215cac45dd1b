import '#platform/operating/early-signals';
import '#platform/log/source-maps';
import { misspelt } from '#platform/config/setting-files';
import { createLogger } from '#platform/log/logger';
import { redactText } from '#platform/log/redact';
import { SETTINGS, loadEnvironment } from '#settings/environment';
import { createApp } from '#api/app.setup';
import { serve } from '#api/shutdown';

async function main(): Promise<void> {
  const environment = loadEnvironment(process.env);
  const logger = createLogger(environment.LOG_LEVEL, environment.NODE_ENV === 'production');
  for (const hint of misspelt(process.env, SETTINGS)) logger.warn(hint);
  const app = await createApp(environment, logger);
  await serve(app, environment, logger);
  logger.flush(() => process.exit(0));
}

main().catch((error: Error) => {
  process.stderr.write(`${redactText(error.message)}\n`);
  process.exit(1);
});
