import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(__dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const filesOf = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('spec.ts'),
  );

/** Names as docs/threats.md uses them: paths, also below test/ and without the ending, or file names. */
const NAMES = new Set([
  ...filesOf('test')
    .flatMap((file) => [`test/${file}`, file, path.basename(file)])
    .flatMap((file) => [file.replace(/\.(e2e-|fault-|deep-)?spec\.ts$/, ''), file.replace(/\.ts$/, '')]),
  ...filesOf('src').map((file) => path.basename(file, '.ts')),
]);

describe('the threats in docs/threats.md', () => {
  const threats = read('docs/threats.md')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, threat, mend, tests]) => ({ threat, mend, tests }))
    .filter(({ threat }) => threat !== 'threat' && !/^-+$/.test(threat));

  it.each(threats)('are met, by tests that exist: $threat', ({ threat, mend, tests }) => {
    expect([threat.length > 0, mend.length > 0]).toEqual([true, true]);
    const named = [...tests.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(0);
    for (const name of named)
      if (name.endsWith('/*'))
        expect([...NAMES].some((each) => each.startsWith(name.slice(0, -1)))).toBe(true);
      else expect(NAMES).toContain(name);
  });

  it('are complete', () => expect(threats.length).toBeGreaterThan(40));
});

it('the tests also run on the Node.js of the image', () => {
  const [, tested] = /"node24": "npx -y -p node@(\d+)\./.exec(read('package.json'))!;
  expect(tested).toBe('24');
  const dockerfile = read('Dockerfile');
  const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(images).toEqual(['${NODE_IMAGE}', 'build', '${NODE_IMAGE}']);
  expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24-/m);
  for (const tests of [
    '"${on_image[@]}" test\n',
    '"${on_image[@]}" test:faults',
    '"${on_image[@]}" test:cluster',
  ])
    expect(read('.ci/run')).toContain(tests);
});
