import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(__dirname, '../../..');

it.each(['main', 'indexer', 'verify', 'dev/local'])(
  '%s turns source maps on before all that can fail',
  (entry) => {
    const text = readFileSync(join(ROOT, `src/${entry}.ts`), 'utf8');
    const imports = [...text.matchAll(/^import .*'([#.][^']*)';$/gm)].map(([, name]) => name);
    const [first] = imports.filter((name) => name !== '#platform/operating/early-signals');
    expect(first).toBe('#platform/log/source-maps');
  },
);

it('stack traces of built files name the .ts files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'source-maps-'));
  try {
    const build = (name: string, text: string): void => {
      const compilerOptions = { module: ts.ModuleKind.CommonJS, inlineSourceMap: true };
      const { outputText } = ts.transpileModule(text, { compilerOptions, fileName: `${name}.ts` });
      writeFileSync(join(folder, `${name}.js`), outputText);
    };
    build('source-maps', readFileSync(join(__dirname, 'source-maps.ts'), 'utf8'));
    // The types are gone from the built file, so its lines are others.
    build(
      'fails',
      'interface Gone {\n  name: string;\n}\nexport const fail = (_: Gone): never => {\n  throw new Error();\n};',
    );
    build(
      'main',
      "import './source-maps';\nimport { fail } from './fails';\ntry { fail({ name: 'x' }); } catch (error) { console.log((error as Error).stack); }",
    );
    const { stdout } = spawnSync(process.execPath, [join(folder, 'main.js')], { encoding: 'utf8' });
    expect(stdout).toMatch(/fails\.ts:5:\d+/);
    expect(stdout).not.toContain('fails.js');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
