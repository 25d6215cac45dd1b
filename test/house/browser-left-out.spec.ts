import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

const listed = (env: NodeJS.ProcessEnv): string[] =>
  execFileSync(process.execPath, ['node_modules/jest/bin/jest.js', '-c', 'test/config/deep.js', '--listTests'], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file.endsWith('spec.ts'));

it('without a browser only the browser tests are left out', () => {
  const all = listed({ PATH: '/nowhere', CHROMIUM: '/usr/bin/any' });
  const without = listed({ PATH: '/nowhere' });
  const missing = all.filter((file) => !without.includes(file));
  expect(missing.length).toBeGreaterThan(0);
  expect(missing).toEqual(all.filter((file) => file.includes('/test/browser/')));
});
