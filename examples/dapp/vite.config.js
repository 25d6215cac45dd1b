import { env } from 'node:process';
import { defineConfig } from 'vite';

/** Requests to the service go through the page's own address, as behind a proxy in production. */
const proxy = { '/api': { target: env.SERVICE ?? 'http://localhost:3001', changeOrigin: true } };

/** Only what the page brings itself; wallets give their icons as data. Send the same from your server. */
const policy = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:",
  `connect-src 'self'${env.CHAIN ? ` ${env.CHAIN}` : ''}`,
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join('; ');
const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

export default defineConfig({
  base: './',
  appType: 'mpa',
  // In the repository, `paths` leads to the client's sources; elsewhere its package is used.
  // The client's hooks are React's; this page is rendered by Preact.
  resolve: { tsconfigPaths: true, alias: { react: 'preact/compat' } },
  server: { proxy },
  preview: { proxy, headers },
  // No inline script: the policy of the page forbids them.
  build: { target: 'es2022', modulePreload: { polyfill: false } },
});
