const { existsSync } = require('node:fs');
const base = require('../../jest.config.js');
const { findChromium } = require('../support/browser/chromium.js');

/** Tests in a browser run where there is one; `postgres.global.ts` reports when there is none. */
const withoutBrowser = findChromium() ? [] : ['\\.browser-spec\\.ts$'];

/** What `kubectl kustomize` renders from the manifests is tested where there is one. */
const hasKubectl = (process.env.PATH ?? '').split(':').some((folder) => existsSync(`${folder}/kubectl`));
const withoutKubectl = hasKubectl ? [] : ['deploy-rendered\\.deep-spec\\.ts$'];

/** `npm run test:deep`: what is expensive by nature, such as browsers, processes, mutants and long random sequences. */
/** @type {import('jest').Config} */
module.exports = {
  ...base,
  testRegex: '\\.(deep|browser)-spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/', ...withoutBrowser, ...withoutKubectl],
};
