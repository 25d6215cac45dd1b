import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '../..');
const CLIENT = join(ROOT, 'client');
const run = (script: string, ...args: string[]): string =>
  execFileSync(process.execPath, [join(ROOT, 'node_modules', script), ...args], {
    cwd: CLIENT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });

describe('the package, as npm has it', () => {
  let place: string;
  let out: string;
  afterAll(() => rmSync(place, { recursive: true }));

  const node = (type: 'module' | 'commonjs', script: string): string =>
    execFileSync(process.execPath, [`--input-type=${type}`, '-e', script], { cwd: place, encoding: 'utf8' });

  beforeAll(() => {
    // Beneath the client, so that it finds its dependencies.
    place = mkdtempSync(join(CLIENT, 'dist-'));
    out = join(place, 'node_modules/@pooled-savings/client');
    // The test of the release packs it, which checks both.
    run('typescript/bin/tsc', '-p', 'tsconfig.json', '--noCheck', '--outDir', join(out, 'dist'));
    run('typescript/bin/tsc', '-p', 'tsconfig.cjs.json', '--noCheck', '--outDir', join(out, 'dist/cjs'));
    writeFileSync(join(out, 'dist/cjs/package.json'), '{"type":"commonjs"}');
    // Else the name would mean the package around it.
    writeFileSync(join(place, 'package.json'), '{}');
    copyFileSync(join(CLIENT, 'package.json'), join(out, 'package.json'));
  }, 240_000);

  it('has what its entries name, and needs nothing of Node', () => {
    const { exports: entries, main } = JSON.parse(readFileSync(join(CLIENT, 'package.json'), 'utf8')) as {
      exports: Record<string, Record<string, Record<string, string>>>;
      main: string;
    };
    const files = Object.values(entries).flatMap((each) =>
      Object.values(each).flatMap(Object.values<string>),
    );
    for (const file of [...files, main]) expect(existsSync(join(out, file))).toBe(true);
    const modules = readdirSync(join(out, 'dist'), { recursive: true, encoding: 'utf8' });
    for (const file of modules.filter((name) => name.endsWith('.js'))) {
      const text = readFileSync(join(out, 'dist', file), 'utf8');
      for (const [, from] of text.matchAll(/(?:from |require\()['"]([^'"]+)['"]/g))
        expect(from).toMatch(/^(\.{1,2}\/[\w/-]+\.js|viem(\/\w+)?|openapi-fetch|react)$/);
    }
  });

  /** What a file imports, and what those files import, by the names of packages or of files of ours. */
  function importsOf(file: string, found = new Set<string>()): Set<string> {
    const text = readFileSync(file, 'utf8');
    for (const [, from] of text.matchAll(/(?:from |require\(|import\()['"]([^'"]+)['"]/g)) {
      if (found.has(from)) continue;
      found.add(from);
      if (from.startsWith('.'))
        importsOf(join(dirname(file), from.replace(/js$/, file.endsWith('.d.ts') ? 'd.ts' : 'js')), found);
    }
    return found;
  }

  it.each([
    ['dist/webhooks.js', []],
    ['dist/webhooks.d.ts', []],
    ['dist/cjs/webhooks.js', []],
    ['dist/react.js', ['react']],
    ['dist/index.js', ['openapi-fetch', 'viem', 'viem/actions', 'viem/siwe']],
  ])('%s needs only %j', (file, expected) => {
    const packages = [...importsOf(join(out, file))].filter((from) => !from.startsWith('.'));
    expect(packages.sort()).toEqual(expected);
  });

  it.each([
    ['module', `import { SavingsClient } from '@pooled-savings/client';`],
    ['commonjs', `const { SavingsClient } = require('@pooled-savings/client');`],
  ] as const)('is loaded by a %s, without a page, and keeps no process alive', (type, load) => {
    const script = `${load}
      const client = new SavingsClient({ baseUrl: 'http://127.0.0.1' });
      process.stdout.write([typeof client.events, client.session.state.signedIn, client.webhooks !== undefined].join());`;
    expect(node(type, script)).toBe('function,false,true');
  });

  it('knows the errors of its other copy', () => {
    const script = `
      import { createRequire } from 'node:module';
      import { NoAnswerError, isSavingsError } from '@pooled-savings/client';
      const other = createRequire(process.cwd() + '/x.js')('@pooled-savings/client');
      const errors = [new NoAnswerError('no', undefined), new other.NoAnswerError('no', undefined), new Error('no'), null, 'x'];
      const same = other.NoAnswerError === NoAnswerError;
      process.stdout.write(JSON.stringify([same, ...errors.map((each) => [isSavingsError(each), other.isSavingsError(each)].join())]));`;
    expect(JSON.parse(node('module', script))).toEqual([
      ...[false, 'true,true', 'true,true', 'false,false', 'false,false', 'false,false'],
    ]);
  });
});
