import { existsSync } from 'node:fs';
import { join } from 'node:path';

interface Sequencer {
  sort(tests: unknown[]): { path: string }[];
}
const LongestFirst = jest.requireActual<{ new (options: object): Sequencer; LONGEST: string[] }>(
  '../support/run/longest-first.js',
);
const ROOT = join(__dirname, '../..');

it('begins with the files that take longest, and leaves none out', () => {
  const longest = LongestFirst.LONGEST.map((file) => join(ROOT, file));
  for (const file of longest) expect([file, existsSync(file)]).toEqual([file, true]);
  const files = [__filename, ...longest, join(ROOT, 'src/values/rules.spec.ts')];
  const context = {
    config: { id: 'own', cacheDirectory: '/nowhere', haste: {} },
    hasteFS: { getSize: () => 1 },
  };
  const sorted = new LongestFirst({ contexts: [], globalConfig: {} }).sort(
    files.map((path) => ({ path, context })),
  );
  const paths = sorted.map(({ path }) => path);
  expect([...paths].sort()).toEqual([...files].sort());
  expect(paths.slice(0, longest.length).sort()).toEqual([...longest].sort());
});
