const { missingPackages } = require('../support/run/cluster-packages.js');
const base = require('../../jest.config.js');

const missing = missingPackages();
if (missing) process.stderr.write(`\n${missing}\ntest/cluster is left out.\n`);

/** A PostgreSQL cluster that fails under load: `npm run test:cluster` builds, then runs these where its packages are. */
/** @type {import('jest').Config} */
module.exports = {
  ...base,
  runtime: undefined,
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testRegex: '\\.cluster-spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/', ...(missing ? ['\\.cluster-spec\\.ts$'] : [])],
  passWithNoTests: true,
  // Each brings up its own servers.
  globalSetup: undefined,
  globalTeardown: undefined,
  testTimeout: 360_000,
  // One file takes longer than all others together.
  maxWorkers: 2,
};
