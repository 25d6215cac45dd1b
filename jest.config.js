/** @type {import('jest').Config} */
module.exports = {
  rootDir: '.',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testRegex: '\\.(e2e-)?spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/', '\\.fault-spec\\.ts$'],
  testEnvironment: 'node',
  testTimeout: 60_000,
  globalSetup: '<rootDir>/test/support/postgres.global.ts',
  globalTeardown: '<rootDir>/test/support/postgres.teardown.ts',
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        sourceMaps: 'inline',
        module: { type: 'commonjs' },
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
        },
      },
    ],
  },
};
