import '#platform/log/source-maps';
import { createLogger } from '#platform/log/logger';
import { redactText } from '#platform/log/redact';
import { loadEnvironment } from '#settings/environment';
import { createApp } from '#api/app.setup';
import { runUntilSignal } from '#api/shutdown';

async function main(): Promise<void> {
  const environment = loadEnvironment(process.env);
  const logger = createLogger(environment.LOG_LEVEL, environment.NODE_ENV === 'production');
  const app = await createApp(environment, logger);
  await runUntilSignal(app, environment, logger);
}

main().catch((error: Error) => {
  process.stderr.write(`${redactText(error.message)}\n`);
  process.exit(1);
});
