import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { REPOSITORY } from './files';
import { urlOf } from './ports';

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
  /** Any free one by default, and if it is taken. */
  port?: number;
}

interface Asset {
  type: string;
  body: Uint8Array;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export const DAPP = path.join(REPOSITORY, 'examples/dapp');
/** Vite is an ES module, and runs in a process of its own. */
export const VITE = path.join(path.dirname(require.resolve('vite/package.json')), 'bin/vite.js');

/**
 * Builds the page of `examples/dapp` and serves it from memory, for development only. Requests to /api go on to the
 * service, so that page and API have one origin, as behind a proxy in production.
 */
export async function serveDapp({
  folder = DAPP,
  api,
  rpcUrl,
  host = '127.0.0.1',
  port = 0,
}: DappOptions): Promise<Dapp> {
  const assets = await buildAssets(folder);
  const headers = {
    'content-security-policy': policy(rpcUrl),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  };
  const server = createServer((request, response) => {
    // Not by URL: `//host/api` and `http://host/api` would name another host, and `//` no URL at all.
    const [pathname] = request.url!.split('?');
    if (/^\/api(\/|$)/.test(pathname)) return passOn(api, request, response);
    const asset = assets.get(pathname === '/' ? '/index.html' : pathname);
    if (!asset) return void response.writeHead(404, headers).end('Not found');
    const zips = request.headers['accept-encoding']?.includes('gzip');
    response.writeHead(200, {
      ...headers,
      'content-type': asset.type,
      vary: 'accept-encoding',
      ...(zips && { 'content-encoding': 'gzip' }),
    });
    response.end(zips ? gzipSync(asset.body) : asset.body);
  });
  const listen = (at: number): Promise<unknown> => once(server.listen(at, host), 'listening');
  // Another program may have taken the port during the start.
  await listen(port).catch(() => listen(0));
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { url: urlOf({ HOST: host }, (server.address() as AddressInfo).port), stop };
}

/** Only what the page brings itself; wallets give their icons as data. */
const policy = (rpcUrl?: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${rpcUrl ? ` ${new URL(rpcUrl).origin}` : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

async function buildAssets(page: string): Promise<Map<string, Asset>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'savings-page-'));
  try {
    const options = ['--outDir', folder, '--emptyOutDir', '--logLevel', 'warn'];
    const env = { ...process.env, NODE_ENV: 'production' };
    await promisify(execFile)(process.execPath, [VITE, 'build', page, ...options], { env });
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(path.join(folder, name)).isFile())
      .map((name): [string, Asset] => [
        `/${name}`,
        { type: TYPES[path.extname(name)], body: readFileSync(path.join(folder, name)) },
      ]);
    return new Map(files);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function passOn(api: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request;
  // The host stays as the browser named it, so that the service sees a page of its own site.
  const passed = ask(api, { method, headers, path: request.url }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  response.once('close', () => passed.destroy());
  request.pipe(passed);
}
