import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Asset } from '#platform/answers/send-text';
import { isHost } from '#platform/http/request-form';
import type { Environment } from '#settings/environment';
import { createDocument, servedAt } from './document';

/** After this time browsers check for changes and get a 304. */
const ASSET_AGE_SECONDS = 3600;
/** The document is kept for so many addresses. For others it is made at each request, which counts toward the limit. */
const MOST_ADDRESSES = 16;
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'application/javascript; charset=utf-8',
  '.png': 'image/png',
};
const PAGE = path.join(__dirname, 'page');
const SWAGGER_UI = path.dirname(require.resolve('swagger-ui-dist/package.json'));
/** For address checksums: modules that browsers load unchanged. */
const NOBLE_HASHES = path.dirname(require.resolve('@noble/hashes/sha3.js'));
/** Everything that the page loads, with the folder of each file. The packages also contain source maps and more. */
const ASSETS: Record<string, string> = {
  'swagger-ui.css': SWAGGER_UI,
  'swagger-ui-bundle.js': SWAGGER_UI,
  'favicon-32x32.png': SWAGGER_UI,
  'page.css': PAGE,
  'page.js': PAGE,
  'sign-in.js': PAGE,
  'noble/sha3.js': NOBLE_HASHES,
  'noble/_u64.js': NOBLE_HASHES,
  'noble/utils.js': NOBLE_HASHES,
};

/**
 * No foreign sources, inline scripts or eval. The page's library writes style attributes, so inline styles are allowed.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** What the page must know about the service, passed in data attributes. */
interface PageSettings {
  /** The path to /docs/ as seen from the page: only a proxy may know its prefix. */
  base: string;
  domains: string[];
  chainId?: number;
}

const page = ({ base, domains, chainId }: PageSettings): string => `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Pooled savings service: API</title>
    <link rel="stylesheet" href="${base}assets/swagger-ui.css">
    <link rel="stylesheet" href="${base}assets/page.css">
    <link rel="icon" type="image/png" href="${base}assets/favicon-32x32.png">
  </head>
  <body>
    <header class="bar">
      <strong>Pooled savings service</strong>
      <span id="status" role="status"></span>
      <a href="${base}openapi.json">OpenAPI document</a>
      <button id="sign-in" type="button">Sign in with wallet</button>
    </header>
    <main id="page" data-document="${base}openapi.json" data-domains="${escape(domains.join())}" data-chain-id="${chainId ?? ''}"></main>
    <script src="${base}assets/swagger-ui-bundle.js"></script>
    <script type="module" src="${base}assets/page.js"></script>
  </body>
</html>
`;

const escape = (text: string): string => text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);

/**
 * Serves the document as a page at /docs and as JSON at /docs/openapi.json; `/` and /docs-json redirect to them.
 * Only the listed files are served: the packages also contain source maps, four times the page's size.
 */
export function serveDocs(
  app: NestFastifyApplication,
  { SIWE_DOMAINS: domains, CHAIN_ID: chainId, PUBLIC_URL: publicUrl, RATE_LIMIT_GENERAL: limit }: Environment,
): void {
  const fastify = app.getHttpAdapter().getInstance();
  // Each counts for itself: readers of the page have all requests to the API left.
  const ownLimit = { config: { throttle: { general: { limit } } } };
  const serve = (url: string, asset: Asset, headers: Record<string, string>): unknown =>
    fastify.get(url, ownLimit, (_request, reply) => asset.send(reply.headers(headers)));
  const revalidate = { 'cache-control': 'no-cache' };
  const documentAt = documents(app);
  fastify.get('/docs/openapi.json', ownLimit, (request, reply) =>
    documentAt(publicUrl ?? addressOf(request)).send(reply.headers(revalidate)),
  );
  const html = (base: string): Asset =>
    new Asset('text/html; charset=utf-8', () => Buffer.from(page({ base, domains, chainId })));
  const [without, within] = [html('./docs/'), html('./')];
  fastify.get('/docs', ownLimit, ({ originalUrl }, reply) =>
    (/^[^?]*\/(\?|$)/.test(originalUrl) ? within : without).send(
      reply.headers({ ...revalidate, 'content-security-policy': POLICY }),
    ),
  );
  // Relative, because a proxy may have removed a prefix. A request for /api arrives here as /.
  fastify.get('/', ownLimit, ({ originalUrl }, reply) =>
    reply
      .header('location', /^\/api(\?|$)/.test(originalUrl) ? './api/docs' : './docs')
      .status(302)
      .send(),
  );
  // Where other services of NestJS have it.
  fastify.get('/docs-json', ownLimit, (_request, reply) =>
    reply.header('location', './docs/openapi.json').status(302).send(),
  );
  for (const [name, folder] of Object.entries(ASSETS)) {
    const asset = new Asset(TYPES[path.extname(name)], () =>
      readFile(path.join(folder, path.basename(name))),
    );
    const age = folder === PAGE ? 0 : ASSET_AGE_SECONDS;
    serve(`/docs/assets/${name}`, asset, { 'cache-control': `public, max-age=${age}` });
  }
}

/** Returns the document for a base URL. */
function documents(app: NestFastifyApplication): (url: string) => Asset {
  const kept = new Map<string, Asset>();
  let document: OpenAPIObject | undefined;
  return (url) => {
    const made = (): Buffer => Buffer.from(JSON.stringify(servedAt((document ??= createDocument(app)), url)));
    const asset = kept.get(url) ?? new Asset('application/json; charset=utf-8', made);
    // The one that was asked for last comes last.
    kept.delete(url);
    kept.set(url, asset);
    if (kept.size > MOST_ADDRESSES) kept.delete(kept.keys().next().value!);
    return asset;
  };
}

/**
 * The address under which a request reached the service, with the prefix that it may have. Behind a proxy of TRUST_PROXY
 * it is the proxy's, by X-Forwarded-Host and X-Forwarded-Proto.
 */
function addressOf({ protocol, host, originalUrl }: FastifyRequest): string {
  // HTTP/1.0 may leave it out, and nobody has checked what a proxy says. The page, which is beside the document, knows
  // its own prefix.
  if (!host || !isHost(host) || !/^https?$/.test(protocol)) return '..';
  return `${protocol}://${host}${/^\/api(\/|$)/.test(originalUrl) ? '/api' : ''}`;
}
