import files from '@fastify/static';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import path from 'node:path';
import { sendText } from '#platform/answers/send-text';
import type { Environment } from '#settings/environment';
import { createDocument } from './document';

/** After this time browsers check for changes and get a 304. */
const ASSET_AGE_MS = 3_600_000;
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
 * Serves the document as a page at /docs and as JSON at /docs/openapi.json; `/` redirects to the page. Only the listed
 * files are served: the packages also contain source maps, four times the page's size.
 */
export async function serveDocs(
  app: NestFastifyApplication,
  { SIWE_DOMAINS: domains, CHAIN_ID: chainId }: Environment,
): Promise<void> {
  const fastify = app.getHttpAdapter().getInstance();
  const revalidate = { 'cache-control': 'no-cache' };
  // The page loads several files at once, so they do not count toward the rate limit.
  const asset = { config: { skipThrottle: true as const } };
  let document: string | undefined;
  fastify.get('/docs/openapi.json', (_request, reply) =>
    sendText(
      reply.headers({ ...revalidate, 'content-type': 'application/json; charset=utf-8' }),
      (document ??= JSON.stringify(createDocument(app))),
    ),
  );
  for (const [url, base] of [
    ['/docs', './docs/'],
    ['/docs/', './'],
  ])
    fastify.get(url, (_request, reply) =>
      reply
        .headers({ ...revalidate, 'content-type': 'text/html; charset=utf-8' })
        .header('content-security-policy', POLICY)
        .send(page({ base, domains, chainId })),
    );
  // Relative, because a proxy may have removed a prefix. A request for /api arrives here as /.
  fastify.get('/', ({ originalUrl }, reply) =>
    reply
      .header('location', /^\/api(\?|$)/.test(originalUrl) ? './api/docs' : './docs')
      .status(302)
      .send(),
  );
  await fastify.register(files, { root: PAGE, serve: false });
  for (const [name, folder] of Object.entries(ASSETS))
    fastify.get(`/docs/assets/${name}`, asset, (_request, reply) =>
      reply.sendFile(path.basename(name), folder, { maxAge: folder === PAGE ? 0 : ASSET_AGE_MS }),
    );
}
