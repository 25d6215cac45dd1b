const { existsSync } = require('node:fs');
const base = require('../../jest.config.js');
const { findChromium } = require('../support/browser/chromium.js');

const folders = (process.env.PATH ?? '').split(':');
const isInstalled = (program) => folders.some((folder) => existsSync(`${folder}/${program}`));

/** Tests whose programs are no npm packages, which are left out file by file where a program is missing. */
const LEFT_OUT = [
  { needs: 'Chromium, or CHROMIUM', has: findChromium(), pattern: '\\.browser-spec\\.ts$' },
  { needs: 'kubectl', has: isInstalled('kubectl'), pattern: '/deploy-rendered\\.deep-spec\\.ts$' },
  {
    needs: 'promtool and amtool',
    has: isInstalled('promtool') && isInstalled('amtool'),
    pattern: '/alerts\\.deep-spec\\.ts$',
  },
].filter(({ has }) => !has);

for (const { needs, pattern } of LEFT_OUT)
  process.stderr.write(`\n${needs} is missing: tests whose path matches ${pattern} are left out.\n`);

/** `npm run test:deep`: what is expensive by nature, such as browsers, processes, mutants and long random sequences. */
/** @type {import('jest').Config} */
module.exports = {
  ...base,
  testRegex: '\\.(deep|browser)-spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/', ...LEFT_OUT.map(({ pattern }) => pattern)],
};
