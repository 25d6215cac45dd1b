import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { poolContracts } from '#dev/further';
import type { Running } from './saver';
import { say, step } from './steps';

/** Holds everything against the chain, as `npm run verify` does. @throws Error if something differs */
export async function verified({ rpc, deployment, database }: Running): Promise<void> {
  step('Everything is verified against the events and the contracts');
  if (!database) return say('not here: DATABASE_URL names a database of your own, see npm run verify');
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: database,
    RPC_URL: rpc,
    POOL_CONTRACTS: poolContracts(deployment),
  };
  const run = fork(path.join(__dirname, '../../verify.js'), { env, stdio: 'inherit' });
  const [code] = (await once(run, 'exit')) as [number | null];
  if (code !== 0) throw new Error('something differs');
}
