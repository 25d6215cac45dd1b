import { env } from 'node:process';
import { defineConfig } from 'vite';

/** Requests to the service go through the page's own address, as behind a proxy in production. */
const proxy = { '/api': { target: env.SERVICE ?? 'http://localhost:3001', changeOrigin: true } };

export default defineConfig({
  base: './',
  // In the repository, `paths` leads to the client's sources; elsewhere its package is used.
  // The client's hooks are React's; this page is rendered by Preact.
  resolve: { tsconfigPaths: true, alias: { react: 'preact/compat' } },
  server: { proxy },
  preview: { proxy },
  // No inline script: the policy of the page forbids them.
  build: { target: 'es2022', modulePreload: { polyfill: false } },
});
