// `npm run check [base]`: what a developer runs while working, in at most three minutes. It lints and formats only the
// files that differ from the base (main, or HEAD on main), checks all types, and runs the tests of the folders that
// changed, with those of the documents and of the structure. `npm test` and `.ci/run` run the rest.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

process.chdir(path.join(import.meta.dirname, '..'));
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);

/** `#` names rooms of src, which the tests of the service repeat as folders: src/features/pools is tested in test/pools. */
function testsOf(file) {
  if (/\.(e2e-)?spec\.ts$/.test(file)) return [`${file}$`];
  const [top, area, room] = file.split('/');
  if (top === 'test') return area === 'support' ? [] : [`^test/${area}/`];
  if (top === 'migrations') return ['test/schema/', 'test/ledger/'];
  if (top === 'client') return ['test/client/'];
  if (top !== 'src' || !room) return [];
  const isRoom = !path.extname(room);
  return [
    `src/${area}/${isRoom ? `${room}/` : ''}`,
    `test/${area}/`,
    ...(isRoom ? [`test/(\\w+/)*${room}/`] : []),
  ];
}

const base = process.argv[2] ?? git('merge-base', 'HEAD', 'main')[0];
const changed = [
  ...new Set([...git('diff', '--name-only', base), ...git('ls-files', '-o', '--exclude-standard')]),
].filter((file) => existsSync(file));

function run(command, ...args) {
  const begun = performance.now();
  return new Promise((resolve) => {
    const child = spawn('npx', [command, ...args], { stdio: 'inherit' });
    child.on('close', (code) => {
      console.log(
        `${code === 0 ? 'passed' : 'FAILED'} in ${((performance.now() - begun) / 1000).toFixed(0)} s: ${command}`,
      );
      resolve(code === 0);
    });
  });
}

async function lint() {
  const code = changed.filter((file) => /\.(ts|tsx|js|mjs)$/.test(file));
  const isFormatted =
    changed.length === 0 ||
    (await run('prettier', '--check', '--ignore-unknown', '--log-level=warn', ...changed));
  const isClean =
    code.length === 0 ||
    (await run(
      'eslint',
      '--cache',
      '--cache-location=node_modules/.cache/eslint/',
      '--no-warn-ignored',
      ...code,
    ));
  return isFormatted && isClean;
}

console.log(`${changed.length} files differ from ${base.slice(0, 8)}`);
const checks = await Promise.all([
  lint(),
  run('tsc', '--noEmit', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/check.tsbuildinfo'),
]);
const tests = [...new Set(['test/(house|documents)/', ...changed.flatMap(testsOf)])];
checks.push(await run('jest', ...tests));
process.exitCode = checks.every(Boolean) ? 0 : 1;
