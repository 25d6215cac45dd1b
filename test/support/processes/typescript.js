const { createHash, randomBytes } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { Module } = require('node:module');
const { join } = require('node:path');
const options = require('../run/swc');

/**
 * Preload (`-r`) for processes that tests start from source. What is compiled is kept for the next process, beside the
 * digest of what it was made of: ts-node alone took a second of CPU for each.
 */
const FOLDER = join(__dirname, '../../../node_modules/.cache/test-processes');
const digest = (...texts) =>
  texts.reduce((hash, text) => hash.update(text), createHash('sha256')).digest('hex');
const compiler = `${require('@swc/core/package.json').version} ${JSON.stringify(options)}`;

mkdirSync(FOLDER, { recursive: true });
Module._extensions['.ts'] = (module, file) => {
  const text = readFileSync(file, 'utf8');
  const origin = `//${digest(compiler, file, text)}`;
  const kept = join(FOLDER, `${digest(file)}.js`);
  module._compile(read(kept, origin) ?? keep(kept, compile(text, file), origin), file);
};

/** @returns undefined if it was made of something else, or is not there */
function read(kept, origin) {
  try {
    const code = readFileSync(kept, 'utf8');
    return code.endsWith(origin) ? code : undefined;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Under another name until it is whole: other processes read it meanwhile. */
function keep(kept, code, origin) {
  const draft = `${kept}.${randomBytes(6).toString('hex')}`;
  const whole = `${code}\n${origin}`;
  writeFileSync(draft, whole);
  renameSync(draft, kept);
  return whole;
}

const compile = (text, filename) => require('@swc/core').transformSync(text, { ...options, filename }).code;
