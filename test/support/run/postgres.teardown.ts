import type { LocalPostgres } from '../../../src/dev/postgres';

/** Stops the server that postgres.global.ts started, if it did. */
export default async function stop(): Promise<void> {
  const { testPostgres } = globalThis as { testPostgres?: LocalPostgres };
  if (!testPostgres) return;
  delete process.env.TEST_DATABASE_URL; // in watch mode the next run starts its own
  await testPostgres.stop();
}
