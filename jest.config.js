const { existsSync } = require('node:fs');
const { availableParallelism } = require('node:os');
const { findChromium } = require('./test/support/browser/chromium.js');
const swc = require('./test/support/run/swc.js');

/** Tests in a browser run where there is one; `postgres.global.ts` says so where there is none. */
const BROWSER_TESTS = '\\.browser-spec\\.ts$';

/** What `kubectl kustomize` makes of the manifests is tested where there is one. */
const RENDERED = 'deploy-rendered\\.spec\\.ts$';
const hasKubectl = (process.env.PATH ?? '').split(':').some((folder) => existsSync(`${folder}/kubectl`));

const SWC = ['@swc/jest', swc];

/** @type {import('jest').Config} */
module.exports = {
  rootDir: '.',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testRegex: '\\.((e2e|browser)-)?spec\\.ts$',
  testPathIgnorePatterns: [
    '/node_modules/',
    '\\.fault-spec\\.ts$',
    ...(findChromium() ? [] : [BROWSER_TESTS]),
    ...(hasKubectl ? [] : [RENDERED]),
  ],
  moduleNameMapper: {
    '^#(.*)$': '<rootDir>/src/$1',
    '^@pooled-savings/client$': '<rootDir>/client/src/index.ts',
    // Sources of the client name each other as they are called once built.
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  runtime: '<rootDir>/test/support/run/shared-modules.js',
  testEnvironment: '<rootDir>/test/support/run/one-context.js',
  testSequencer: '<rootDir>/test/support/run/longest-first.js',
  testTimeout: 120_000,
  // Tests wait for more than half of their time; turn.js keeps a busy machine from too many at once. Each worker has some
  // twenty connections of the 200 of the server.
  maxWorkers: Math.min(Math.ceil(2.5 * availableParallelism()), 8),
  globalSetup: '<rootDir>/test/support/run/postgres.global.ts',
  globalTeardown: '<rootDir>/test/support/run/postgres.teardown.ts',
  // Packages that `@ethereumjs/mpt` requires are modules: Node loads them so, jest on Node 20 does not.
  transform: { '^.+\\.ts$': SWC, '/node_modules/(.+/)?@noble/.+\\.js$': SWC },
  transformIgnorePatterns: ['/node_modules/(?!(.+/)?@noble/)'],
};
