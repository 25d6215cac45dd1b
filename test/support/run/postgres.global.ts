import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
// Relative: jest loads this file outside of its own module system, where #dev would lead to a build.

import { startPostgres } from '../../../src/dev/postgres';

const MEMORY = { path: '/dev/shm', type: 0x01021994 };
const NEEDED_BYTES = 4e9;

/** Where files are in memory, if there is room: databases are made and removed all the time, and disks are slow at that. */
async function folder(): Promise<string> {
  const { type, bsize, bavail } = await statfs(MEMORY.path).catch(() => ({ type: 0, bsize: 0, bavail: 0 }));
  return type === MEMORY.type && bsize * bavail > NEEDED_BYTES ? MEMORY.path : tmpdir();
}

/** Gives the run a PostgreSQL server of its own, unless TEST_DATABASE_URL names one. */
export default async function start(): Promise<void> {
  if (process.env.TEST_DATABASE_URL) return;
  const server = await startPostgres({ dir: await folder(), database: 'test', ephemeral: true });
  process.env.TEST_DATABASE_URL = server.url;
  Object.assign(globalThis, { testPostgres: server }); // for the teardown; jest shares nothing else with it
}
