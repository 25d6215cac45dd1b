import type { Config } from 'jest';
import { tmpdir } from 'node:os';
// Relative: jest loads this file outside of its own module system, where #dev would lead to a build.

import { startPostgres } from '../../../src/dev/postgres';

/** Gives the run a PostgreSQL server of its own, unless TEST_DATABASE_URL names one. */
export default async function start(
  _options: unknown,
  { testPathIgnorePatterns }: Pick<Config, 'testPathIgnorePatterns'>,
): Promise<void> {
  if (testPathIgnorePatterns?.some((pattern) => pattern.includes('browser-spec')))
    process.stderr.write('\nNo Chromium is installed, and CHROMIUM names none: test/browser is left out.\n');
  if (testPathIgnorePatterns?.some((pattern) => pattern.includes('deploy-rendered')))
    process.stderr.write('\nThere is no kubectl: what kustomize makes of deploy/ is not tested.\n');
  if (process.env.TEST_DATABASE_URL) return;
  const server = await startPostgres({ dir: tmpdir(), database: 'test', ephemeral: true });
  process.env.TEST_DATABASE_URL = server.url;
  Object.assign(globalThis, { testPostgres: server }); // for the teardown; jest shares nothing else with it
}
