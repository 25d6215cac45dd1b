const swc = require('./test/support/run/swc.js');

const SWC = ['@swc/jest', swc];

/**
 * `npm test`: what a developer runs before each commit. Expensive tests are named `*.deep-spec.ts` and run with
 * `test/config/deep.js`; the other suites have their configurations in that folder, too.
 * @type {import('jest').Config}
 */
module.exports = {
  rootDir: __dirname,
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testRegex: '(^|/)[^/]+(?<!deep-|browser-|fault-|cluster-|image-)spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/'],
  moduleNameMapper: {
    '^#(.*)$': '<rootDir>/src/$1',
    '^@pooled-savings/client$': '<rootDir>/client/src/index.ts',
    '^@pooled-savings/client/(\\w+)$': '<rootDir>/client/src/$1.ts',
    // Sources of the client import each other by the names of the built files.
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  runtime: '<rootDir>/test/support/run/shared-modules.js',
  testEnvironment: '<rootDir>/test/support/run/one-context.js',
  setupFiles: ['<rootDir>/test/support/run/seeds.ts'],
  // A limit for tests that hang. No test is about how long it takes.
  testTimeout: 240_000,
  // Tests are bound by CPU, a third of which PostgreSQL uses.
  maxWorkers: 3,
  globalSetup: '<rootDir>/test/support/run/postgres.global.ts',
  globalTeardown: '<rootDir>/test/support/run/postgres.teardown.ts',
  // Packages that `@ethereumjs/mpt` requires are ES modules: Node loads them, jest on Node 20 does not.
  transform: { '^.+\\.ts$': SWC, '/node_modules/(.+/)?@noble/.+\\.js$': SWC },
  transformIgnorePatterns: ['/node_modules/(?!(.+/)?@noble/)'],
};
