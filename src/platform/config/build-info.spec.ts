import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { buildOf, showBuild } from './build-info';

const { version } = JSON.parse(readFileSync(path.join(__dirname, '../../../package.json'), 'utf8')) as {
  version: string;
};

it('tells the version of the package, and the commit only where it is known', async () => {
  expect(buildOf(undefined)).toEqual({ version, commit: 'unknown' });
  const registry = new Registry();
  showBuild('build_info', registry, 'abc1234');
  showBuild('build_info', registry, 'abc1234');
  expect(await registry.metrics()).toContain(`build_info{version="${version}",commit="abc1234"} 1\n`);
});
