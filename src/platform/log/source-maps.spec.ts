import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../../..');

it.each(['main', 'indexer', 'verify', 'dev/local'])('%s turns source maps on before all else', (entry) => {
  const text = readFileSync(join(ROOT, `src/${entry}.ts`), 'utf8');
  expect(/^import .*'([#.][^']*)';$/m.exec(text)?.[1]).toBe('#platform/log/source-maps');
});

it('stack traces of the built service name the .ts files', () => {
  const code = `
    require('./dist/src/platform/log/source-maps');
    try { require('./dist/src/settings/environment').loadEnvironment({}) } catch (error) { console.log(error.stack) }`;
  const stack = execFileSync(process.execPath, ['-e', code], { cwd: ROOT, encoding: 'utf8' });
  expect(stack).toMatch(/loadEnvironment \(\S*src\/settings\/environment\.ts:\d+:\d+\)/);
  expect(stack).not.toContain('dist/src/settings');
});
