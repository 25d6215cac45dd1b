import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { copyRepository } from '../../scripts/recipe';
import { checksumsOf, faultsOf, isLater, release, releasedOf, withRelease } from '../../scripts/release';

const ROOT = path.join(__dirname, '../..');
const DAY = '2026-01-31';

it('released migrations are as they were released, and new ones come after them', () => {
  expect(faultsOf(releasedOf(ROOT), checksumsOf(ROOT))).toEqual([]);
});

it('a released migration may neither change nor go, and none may come before it', () => {
  const released = { version: '1.0.0', checksums: { 'migrations/2-b.ts': 'x', 'migrations/2-b/1.sql': 'y' } };
  expect(faultsOf(released, released.checksums)).toEqual([]);
  expect(faultsOf(released, { ...released.checksums, 'migrations/3-c.ts': 'z' })).toEqual([]);
  expect(
    faultsOf(released, { 'migrations/1-a.ts': 'z', 'migrations/2-b.ts': 'X', 'migrations/2-b/2.sql': 'z' }),
  ).toEqual([
    'migrations/2-b.ts is released and must not change',
    'migrations/2-b/1.sql is released and must not go',
    'migrations/1-a.ts must come after migrations/2-b.ts, which is released',
    'migrations/2-b/2.sql must come after migrations/2-b.ts, which is released',
  ]);
});

it('versions have an order', () => {
  expect(isLater('1.0.0', 'unreleased')).toBe(true);
  expect(isLater('1.10.0', '1.9.9')).toBe(true);
  for (const before of ['1.9.9', '1.9.8', '1.8.10', '0.10.10']) expect(isLater(before, '1.9.9')).toBe(false);
});

it('the changelog gets a section, if there is anything to say', () => {
  const text = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- More.\n\n## [1.0.0] - 2026-01-01\n';
  expect(withRelease(text, '1.1.0', DAY)).toBe(
    text.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [1.1.0] - ${DAY}\n`),
  );
  expect(() => withRelease(text.replace('### Added\n\n- More.\n', ''), '1.1.0', DAY)).toThrow('says nothing');
  expect(() => withRelease('# Changelog\n', '1.1.0', DAY)).toThrow('no section');
});

describe('a release in a clone', () => {
  const clone = copyRepository();
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: clone, encoding: 'utf8' }).trim();
  const read = (file: string): any => JSON.parse(readFileSync(path.join(clone, file), 'utf8'));
  const lines: string[] = [];
  const run = (version: string, dry = false): void =>
    release(clone, version, DAY, dry, (line) => lines.push(line));

  beforeAll(() => {
    // Right after a release there is nothing to release.
    const changelog = path.join(clone, 'CHANGELOG.md');
    const unreleased = '## [Unreleased]\n';
    writeFileSync(
      changelog,
      readFileSync(changelog, 'utf8').replace(unreleased, `${unreleased}\n### Fixed\n\n- Something.\n`),
    );
    git('init', '--quiet');
    git('config', 'user.name', 'Test');
    git('config', 'user.email', 'test@example.org');
    appendFileSync(path.join(clone, '.git/info/exclude'), '/node_modules\n');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'all');
  });
  afterAll(() => rmSync(clone, { recursive: true, force: true }));

  it('is tried without writing, made once, and then holds', () => {
    const before = git('rev-parse', 'HEAD');
    const version = `${Number(read('package.json').version.split('.')[0]) + 1}.0.0`;
    run(version, true);
    expect([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')]).toEqual([before, '', '']);

    run(version);
    expect(git('status', '--porcelain')).toBe('');
    expect([git('describe', '--exact-match'), git('log', '-1', '--format=%s')]).toEqual([
      `v${version}`,
      `Release ${version}`,
    ]);
    const lock = read('package-lock.json');
    expect([
      read('package.json').version,
      read('client/package.json').version,
      ...[lock, lock.packages[''], lock.packages.client].map((each) => each.version),
      read('migrations/released.json').version,
    ]).toEqual(Array(6).fill(version));
    const manifests = git('grep', '-h', '^ *newTag:', '--', '*.yaml').split('\n');
    expect(manifests.map((line) => line.trim())).toEqual(Array(2).fill(`newTag: ${version}`));
    expect(read('migrations/released.json').checksums).toEqual(checksumsOf(ROOT));
    expect(readdirSync(path.join(clone, 'release')).sort()).toEqual([
      `pooled-savings-client-${version}.tgz`,
      'sbom.cdx.json',
    ]);
    expect(read('release/sbom.cdx.json').metadata.component.version).toBe(version);
    expect(lines.at(-1)).toContain('git push --follow-tags');

    // The next one.
    expect(() => run(version)).toThrow(`${version} does not come after ${version}`);
    expect(() => run('9')).toThrow('9 is no version');
    expect(() => run('99.0.0')).toThrow('CHANGELOG.md says nothing');
    const [sql] = Object.keys(checksumsOf(clone)).filter((file) => file.endsWith('.sql'));
    appendFileSync(path.join(clone, sql), '-- More.\n');
    expect(() => run('99.0.0')).toThrow('not committed');
    git('commit', '--quiet', '--all', '--message', 'more');
    expect(() => run('99.0.0')).toThrow(`${sql} is released and must not change`);
  });
});
