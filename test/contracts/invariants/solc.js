#!/usr/bin/env node
// The compiler of npm, for forge, which expects a native one: it asks for the version at each run, and else sends
// standard JSON that already holds all sources. The compiler takes a second to load, so the version is the package's.
const { version } = require('solc/package.json');

if (process.argv.includes('--version')) {
  process.stdout.write(
    `solc, the solidity compiler commandline interface\nVersion: ${version}+commit.00000000.Emscripten.clang\n`,
  );
} else {
  process.stdout.write(require('solc').compile(require('node:fs').readFileSync(0, 'utf8')));
}
