import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from './files';
import { freePort, urlOf } from './ports';
import { endChild, forkMortal } from './processes';

/** The example page of the service, with the API under its own address. */
export interface Dapp {
  url: string;
  stop(): Promise<void>;
}

export interface DappOptions {
  /** The page, if it is not the example. */
  folder?: string;
  /** Where the API listens. */
  api: string;
  /** The chain that the page's test wallet sends to. */
  rpcUrl?: string;
  host?: string;
  /** Any free one by default. */
  port?: number;
  /** Serves the sources, and loads what changes into the page. */
  watch?: boolean;
}

const DAPP = path.join(REPOSITORY, 'examples/dapp');
/** Vite is an ES module, and runs in a process of its own. */
const VITE = path.join(path.dirname(require.resolve('vite/package.json')), 'bin/vite.js');

/** Builds and serves a page with Vite, for development only. Vite passes requests to /api on to the service. */
export async function serveDapp({
  folder = DAPP,
  api,
  rpcUrl,
  host = '127.0.0.1',
  port,
  watch,
}: DappOptions): Promise<Dapp> {
  port ??= await freePort();
  const out = ['--outDir', mkdtempSync(path.join(tmpdir(), 'savings-page-'))];
  const env = { ...process.env, SERVICE: api, ...(rpcUrl && { CHAIN: new URL(rpcUrl).origin }) };
  if (!watch)
    await promisify(execFile)(
      process.execPath,
      [VITE, 'build', folder, ...out, '--emptyOutDir', '--logLevel', 'warn'],
      { env: { ...env, NODE_ENV: 'production' } },
    );
  const command = watch ? [folder] : ['preview', folder, ...out];
  const vite = forkMortal(VITE, [...command, '--host', host, '--port', `${port}`, '--strictPort'], env);
  const stop = async (): Promise<void> => {
    await endChild(vite, 'SIGTERM');
    rmSync(out[1], { recursive: true });
  };
  await new Promise((resolve, reject) => {
    vite.once('exit', () => reject(new Error('Vite ended.')));
    vite.stdout!.once('data', resolve).resume();
  });
  return { url: urlOf({ HOST: host }, port), stop };
}
