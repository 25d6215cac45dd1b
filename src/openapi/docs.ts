import files from '@fastify/static';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import path from 'node:path';
import { createDocument } from './document';

/** Browsers check for changes after this time, and get a 304. */
const ASSET_AGE_MS = 3_600_000;
/** Files of swagger-ui-dist. */
const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

/** No foreign sources, inline scripts or eval. The page's library writes style attributes. */
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

/** @param base where /docs/ is, seen from the page: its path may have a prefix that only a proxy knows */
const page = (base: string): string => `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Pooled savings service</title>
    <link rel="stylesheet" href="${base}assets/swagger-ui.css">
    <link rel="icon" type="image/png" href="${base}assets/favicon-32x32.png">
  </head>
  <body>
    <div id="page" data-document="${base}openapi.json"></div>
    <script src="${base}assets/swagger-ui-bundle.js"></script>
    <script src="${base}assets/page.js"></script>
  </body>
</html>
`;

const SCRIPT = `SwaggerUIBundle({
  domNode: document.getElementById('page'),
  url: document.getElementById('page').dataset.document,
  deepLinking: true,
  // Its check of the document asks a server elsewhere.
  validatorUrl: null,
});
`;

/**
 * Serves the document as a page at /docs and as JSON at /docs/openapi.json. What the page loads is listed by name:
 * the package of the page has source maps too, four times its size.
 */
export async function serveDocs(app: NestFastifyApplication): Promise<void> {
  const fastify = app.getHttpAdapter().getInstance();
  const revalidate = { 'cache-control': 'no-cache' };
  // One look at the page loads several.
  const asset = { config: { skipThrottle: true as const } };
  let document: string | undefined;
  fastify.get('/docs/openapi.json', (_request, reply) =>
    reply
      .headers({ ...revalidate, 'content-type': 'application/json; charset=utf-8' })
      .send((document ??= JSON.stringify(createDocument(app)))),
  );
  for (const [url, base] of [
    ['/docs', './docs/'],
    ['/docs/', './'],
  ])
    fastify.get(url, (_request, reply) =>
      reply
        .headers({ ...revalidate, 'content-type': 'text/html; charset=utf-8' })
        .header('content-security-policy', POLICY)
        .send(page(base)),
    );
  fastify.get('/docs/assets/page.js', asset, (_request, reply) =>
    reply.headers({ ...revalidate, 'content-type': 'text/javascript; charset=utf-8' }).send(SCRIPT),
  );
  await fastify.register(files, {
    root: path.dirname(require.resolve('swagger-ui-dist/package.json')),
    serve: false,
    maxAge: ASSET_AGE_MS,
  });
  for (const file of ASSETS)
    fastify.get(`/docs/assets/${file}`, asset, (_request, reply) => reply.sendFile(file));
}
