const { Module, createRequire, isBuiltin } = require('node:module');
const path = require('node:path');
const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

const ROOT = path.join(__dirname, '../../..');
const SOURCE = path.join(ROOT, 'src') + path.sep;
/** Keeps what it has compiled of the service's document. */
const VALIDATOR = path.join(ROOT, 'test/support/openapi.ts');
const PACKAGES = `${path.sep}node_modules${path.sep}`;
/** Packages of jest keep what belongs to one test file. */
const OF_JEST = /\/node_modules\/(@jest|jest)[/-]/;

const isShared = (file) =>
  file.includes(PACKAGES)
    ? !OF_JEST.test(file)
    : file === VALIDATOR || (file.startsWith(SOURCE) && !file.endsWith('.spec.ts'));

const native = createRequire(__filename);
/** Gives the code of a TypeScript file, from jest's cache. Each test file sets its own. */
let compile;
const OPTIONS = { isInternalModule: false, supportsDynamicImport: false, supportsStaticESM: false };
/** Of shared files: jest forgets its own with each test file. */
const sourceMaps = new Map();

Module._extensions['.ts'] = (module, file) => module._compile(compile(file), file);
const resolve = Module._resolveFilename;
/**
 * `#` of this project, without the condition `source`, which processes that tests start would inherit. Packages may have
 * such names of their own.
 */
Module._resolveFilename = (name, parent, ...more) => {
  const isOurs = name.startsWith('#') && !parent?.filename?.includes(PACKAGES);
  return resolve(isOurs ? `${SOURCE}${name.slice(1)}.ts` : name, parent, ...more);
};

/**
 * Loads the service and its packages once in a process, and the tests themselves for each file: loading all of it took
 * 1.6 s of CPU for each of some 250 files. So tests replace nothing in a module but by spies.
 */
class SharedModules extends Runtime {
  constructor(config, environment, resolver, transform, ...more) {
    super(config, environment, resolver, transform, ...more);
    const maps = this.getSourceMaps();
    for (const [file, map] of sourceMaps) maps.set(file, map);
    compile = (file) => {
      const { code, sourceMapPath } = transform.transform(file, OPTIONS);
      for (const each of [maps, sourceMaps]) each.set(file, sourceMapPath);
      return code;
    };
    this.executor.compile = (source, filename) =>
      compileFunction(source, this.executor.injectedModuleParameters, { filename });
  }

  requireModuleOrMock(from, name) {
    const file = this.isIsolated ? undefined : this.fileOf(from, name);
    return file && isShared(file) ? native(file) : super.requireModuleOrMock(from, name);
  }

  /** Everything is loaded once more, as for a second version of the service in the same process. */
  async isolateModulesAsync(load) {
    this.isIsolated = true;
    await super.isolateModulesAsync(load).finally(() => (this.isIsolated = false));
  }

  fileOf(from, name) {
    if (isBuiltin(name)) return undefined;
    try {
      return createRequire(from).resolve(name);
    } catch {
      // Names that only jest's configuration knows.
      return undefined;
    }
  }
}

module.exports = { __esModule: true, default: SharedModules };
