import { createApp } from './app.setup';
import { createLogger } from './common/logger';
import { redactText } from './common/redact';
import { loadEnvironment } from './config/environment';
import { runUntilSignal } from './shutdown';

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
