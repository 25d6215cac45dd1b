#!/usr/bin/env node
// The compiler of npm, for forge, which expects a native one: it asks for the version, and else sends standard JSON
// that already holds all sources.
const solc = require('solc');

if (process.argv.includes('--version')) {
  process.stdout.write(`solc, the solidity compiler commandline interface\nVersion: ${solc.version()}\n`);
} else {
  process.stdout.write(solc.compile(require('node:fs').readFileSync(0, 'utf8')));
}
