import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;
const UNRELEASED = '## [Unreleased]\n';
/** Which image the manifests run. */
const MANIFESTS = ['deploy/production/kustomization.yaml', 'deploy/several-chains/kustomization.yaml'];
export const RELEASED = 'migrations/released.json';

/** Which migrations have been released, and with which contents: nobody may change those any more. */
export interface Released {
  /** The last released version; `unreleased` before the first. */
  version: string;
  /** SHA-256 by path. */
  checksums: Record<string, string>;
}

const read = (root: string, file: string): string => readFileSync(path.join(root, file), 'utf8');
const write = (root: string, file: string, value: unknown): void =>
  writeFileSync(path.join(root, file), `${JSON.stringify(value, null, 2)}\n`);

export const releasedOf = (root: string): Released => JSON.parse(read(root, RELEASED)) as Released;

/**
 * Of every migration and the SQL that it reads. Not of functions and privileges, which every version applies again.
 * @param root of the repository
 */
export function checksumsOf(root: string): Record<string, string> {
  const files = readdirSync(path.join(root, 'migrations'), { recursive: true, encoding: 'utf8' })
    .map((file) => `migrations/${file.replaceAll(path.sep, '/')}`)
    .filter((file) => /^migrations\/\d+-.*\.(ts|sql)$/.test(file))
    .sort();
  return Object.fromEntries(
    files.map((file) => [file, createHash('sha256').update(read(root, file)).digest('hex')]),
  );
}

/** What is wrong with the migrations of a checkout, each as a sentence. */
export function faultsOf({ checksums }: Released, found: Record<string, string>): string[] {
  const last = Object.keys(checksums)
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .at(-1);
  return [
    ...Object.entries(checksums).flatMap(([file, sum]) =>
      found[file] === sum ? [] : [`${file} is released and must not ${found[file] ? 'change' : 'go'}`],
    ),
    ...Object.keys(found)
      .filter((file) => last && !(file in checksums) && file.split('-')[0] <= last.split('-')[0])
      .map((file) => `${file} must come after ${last}, which is released`),
  ];
}

/** The changelog with what is unreleased as a version of its own. @throws Error where there is nothing to release */
export function withRelease(changelog: string, version: string, day: string): string {
  const [before, after] = changelog.split(UNRELEASED);
  if (after === undefined) throw new Error('CHANGELOG.md has no section [Unreleased]');
  const [text] = after.split(/^## \[/m);
  if (text.trim() === '') throw new Error('CHANGELOG.md says nothing in [Unreleased]');
  return `${before}${UNRELEASED}\n## [${version}] - ${day}\n${after}`;
}

const numbersOf = (version: string): number[] => VERSION.exec(version)?.slice(1).map(Number) ?? [];
/** Whether `version` comes after `last`, by the order of SemVer. */
export function isLater(version: string, last: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(last)];
  const at = a.findIndex((number, i) => number !== b[i]);
  return b.length === 0 || (at >= 0 && a[at] > b[at]);
}

/**
 * Does what can be done of a release without rights elsewhere, and says what is left. Nothing is written before all
 * checks have passed; with `dry` nothing at all.
 * @param day YYYY-MM-DD
 * @throws Error that says what keeps the version from being released
 */
export function release(
  root: string,
  version: string,
  day: string,
  dry: boolean,
  say: (line: string) => void,
): void {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const npm = (...args: string[]): string =>
    execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const released = releasedOf(root);
  const tag = `v${version}`;
  if (!VERSION.test(version)) throw new Error(`${version} is no version such as 1.2.3`);
  if (!isLater(version, released.version))
    throw new Error(`${version} does not come after ${released.version}`);
  if (git('status', '--porcelain') !== '') throw new Error('there are changes that are not committed');
  if (git('tag', '--list', tag) !== '') throw new Error(`there is a tag ${tag}`);
  const checksums = checksumsOf(root);
  const faults = faultsOf(released, checksums);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const changelog = withRelease(read(root, 'CHANGELOG.md'), version, day);
  say(
    `${Object.keys(checksums).length - Object.keys(released.checksums).length} files of migrations become fixed`,
  );
  if (dry) return say(`${version} can be released; nothing was written`);

  for (const file of ['package.json', 'client/package.json'])
    write(root, file, { ...(JSON.parse(read(root, file)) as object), version });
  const lock = JSON.parse(read(root, 'package-lock.json')) as Lock;
  for (const each of [lock, lock.packages[''], lock.packages.client]) each.version = version;
  write(root, 'package-lock.json', lock);
  write(root, RELEASED, { version, checksums } satisfies Released);
  writeFileSync(path.join(root, 'CHANGELOG.md'), changelog);

  for (const file of MANIFESTS)
    writeFileSync(path.join(root, file), read(root, file).replace(/newTag: .*/, `newTag: ${version}`));

  mkdirSync(path.join(root, 'release'), { recursive: true });
  npm('run', '-s', 'sbom');
  renameSync(path.join(root, 'sbom.cdx.json'), path.join(root, 'release/sbom.cdx.json'));
  const packed = npm('pack', '-w', 'client', '--silent', '--pack-destination', 'release')
    .trim()
    .split('\n')
    .at(-1);

  git('add', '--all');
  git('commit', '--quiet', '--message', `Release ${version}`);
  git('tag', '--annotate', tag, '--message', `Version ${version}`);
  const commit = git('rev-parse', '--short', 'HEAD');
  say(`${tag} is commit ${commit}. What is left needs rights elsewhere:

  git push --follow-tags
  npm publish release/${packed}
  docker build --build-arg VERSION=${version} --build-arg COMMIT=${commit} --tag REGISTRY/pooled-savings:${version} .
  docker push REGISTRY/pooled-savings:${version}
  cosign sign REGISTRY/pooled-savings@DIGEST
  cosign attest --type cyclonedx --predicate release/sbom.cdx.json REGISTRY/pooled-savings@DIGEST

A mistake that nobody has seen yet is taken back by: git tag --delete ${tag} && git reset --hard HEAD~1`);
}

interface Lock {
  version: string;
  packages: Record<string, { version: string }>;
}

function main(args: string[]): void {
  const version = args.find((arg) => !arg.startsWith('-'));
  if (!version) throw new Error('usage: npm run release -- VERSION [--dry-run]');
  const day = new Date().toISOString().slice(0, 10);
  release(path.join(__dirname, '..'), version, day, args.includes('--dry-run'), (line) => console.log(line));
}

if (require.main === module)
  try {
    main(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
