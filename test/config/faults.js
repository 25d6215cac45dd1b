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
  // For a machine at a fifth of its speed: waits for a condition end earlier, and name it.
  testTimeout: 1_200_000,
  maxWorkers: 3,
};
