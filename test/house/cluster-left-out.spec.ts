import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

it('without its packages test:cluster names them, and leaves the tests out', () => {
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ['node_modules/jest/bin/jest.js', '-c', 'test/config/cluster.js'],
    { cwd: join(__dirname, '../..'), env: { PATH: process.env.PATH, PG_BIN: '/nowhere' }, encoding: 'utf8' },
  );
  expect(stderr).toMatch(/apt-get install .*postgresql-15/);
  expect(stderr).toContain('test/cluster is left out');
  expect(stdout).toContain('No tests found');
  expect(status).toBe(0);
});
