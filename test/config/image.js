const { missingForImage } = require('../support/run/image-tools.js');
const base = require('../../jest.config.js');

const missing = missingForImage();
if (missing) process.stderr.write(`\n${missing}\ntest/image is left out.\n`);

/** The image, built and run: `npm run test:image`, where its tools are. */
/** @type {import('jest').Config} */
module.exports = {
  ...base,
  runtime: undefined,
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testRegex: '\\.image-spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/', ...(missing ? ['\\.image-spec\\.ts$'] : [])],
  passWithNoTests: true,
  testTimeout: 240_000,
  maxWorkers: 1,
};
