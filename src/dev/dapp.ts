import { build } from 'esbuild';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { REPOSITORY } from './files';
import { urlOf } from './ports';

/** The example page of the service, with the API under its own address. */
export interface Dapp {
  url: string;
  stop(): Promise<void>;
}

export interface DappOptions {
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
  body: string | Uint8Array;
}

const FILES: Record<string, string> = {
  'index.html': 'text/html; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

/**
 * Builds the page of `examples/dapp` in memory and serves it, for development only. Requests to /api go on to the
 * service, so that page and API have one origin, as behind a proxy in production.
 */
export async function serveDapp({ api, rpcUrl, host = '127.0.0.1', port = 0 }: DappOptions): Promise<Dapp> {
  const assets = await buildAssets();
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
    response.writeHead(200, { ...headers, 'content-type': asset.type }).end(asset.body);
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

async function buildAssets(): Promise<Map<string, Asset>> {
  const folder = path.join(REPOSITORY, 'examples/dapp');
  const { outputFiles } = await build({
    entryPoints: [path.join(folder, 'src/main.tsx')],
    tsconfig: path.join(folder, 'tsconfig.json'),
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'silent',
  });
  const script = { type: 'text/javascript; charset=utf-8', body: outputFiles[0].contents };
  const files = Object.entries(FILES).map(
    ([name, type]) => [`/${name}`, { type, body: readFileSync(path.join(folder, name)) }] as const,
  );
  return new Map<string, Asset>([['/main.js', script], ...files]);
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
