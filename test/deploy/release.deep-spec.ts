import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { copyRepository } from '../../scripts/recipe';
import { checksumsOf, release } from '../../scripts/release';

const ROOT = path.join(__dirname, '../..');
const DAY = '2026-01-31';

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
