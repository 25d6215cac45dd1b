const base = require('../../jest.config.js');

/** Faults injected into processes as production runs them: `npm run test:faults` builds, then runs these. */
/** @type {import('jest').Config} */
module.exports = {
  ...base,
  runtime: undefined,
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testRegex: '\\.fault-spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 240_000,
  maxWorkers: 3,
};
