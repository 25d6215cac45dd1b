import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
/** So that nothing is missing, and nothing is installed. */
const PACKAGES = ['chromium', 'promtool', 'amtool', 'redis-server', 'buildah', 'mmdebstrap'];

/**
 * An npm that writes down how it was called. A script that FAIL names fails, one in SILENT passes without a test, and
 * one in KILL ends what runs it. Each of jest's has ten tests, of which two fail in what FAIL names.
 */
const NPM = `#!/bin/bash
echo "$*" >>"$CALLS"
for name in "$@"; do
  case $name in --) ;; run | -s | node24 | npm | ci | --ignore-scripts) last=$name ;; --outputFile=*) out=\${name#*=} ;; --*) ;; *) last=$name ;; esac
done
status=0; passed=10; failed=0
[[ " \${FAIL:-} " != *" $last "* ]] || { status=1; passed=8; failed=2; }
[[ " \${SILENT:-} " != *" $last "* ]] || { passed=0; }
[[ " \${CRASH:-} " != *" $last "* ]] || status=1
[[ " \${KILL:-} " != *" $last "* ]] || kill -9 $PPID
[ -z "\${out:-}" ] || echo "{\\"numPassedTests\\":$passed,\\"numFailedTests\\":$failed,\\"numRuntimeErrorTestSuites\\":0}" >"$out"
echo "ran $last"
exit $status
`;

describe('.ci/run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ci-'));
  const bin = join(folder, 'bin');
  const program = (file: string, text: string): void => writeFileSync(file, text, { mode: 0o755 });

  beforeAll(() => {
    for (const each of ['.ci', 'bin', 'deploy/cluster']) mkdirSync(join(folder, each), { recursive: true });
    cpSync(join(ROOT, '.ci/run'), join(folder, '.ci/run'));
    program(join(folder, 'deploy/cluster/cluster.sh'), '#!/bin/bash\n');
    program(join(bin, 'npm'), NPM);
    for (const each of PACKAGES) program(join(bin, each), '#!/bin/bash\n');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function run(settings: Record<string, string> = {}) {
    const calls = join(folder, 'calls');
    writeFileSync(calls, '');
    const env = { PATH: `${bin}:${process.env.PATH}`, CALLS: calls, ...settings };
    const { status, stdout } = spawnSync(join(folder, '.ci/run'), { env, encoding: 'utf8' });
    return {
      status,
      last: stdout.trimEnd().split('\n').at(-1),
      calls: readFileSync(calls, 'utf8').trimEnd().split('\n'),
    };
  }

  it('runs every suite, and counts the tests in its last line', () => {
    const { status, last, calls } = run();
    expect({ status, last }).toEqual({ status: 0, last: '60 passed, 0 failed' });
    for (const suite of ['test', 'test:deep', 'test:recipe', 'test:faults', 'test:cluster', 'test:image'])
      expect(calls).toContainEqual(expect.stringMatching(`${suite} -- --json`));
  });

  it.each([
    ['a step', { FAIL: 'build' }, '60 passed, 1 failed'],
    ['a step beside others', { FAIL: 'lint' }, '60 passed, 1 failed'],
    ['tests', { FAIL: 'test' }, '58 passed, 2 failed'],
    ['tests beside others', { FAIL: 'test:image' }, '58 passed, 2 failed'],
    ['a run without tests', { SILENT: 'test:image' }, '50 passed, 1 failed'],
    ['a run that fails without a failed test', { CRASH: 'test' }, '60 passed, 1 failed'],
    ['what was killed', { KILL: 'test:image' }, '50 passed, 1 failed'],
  ])('counts what fails: %s', (_, settings: Record<string, string>, last) => {
    expect(run(settings)).toMatchObject({ status: 1, last });
  });

  it('runs nothing that would need what could not be installed, if npm ci fails', () => {
    expect(run({ FAIL: 'ci' })).toEqual({ status: 1, last: '0 passed, 1 failed', calls: ['ci'] });
  });
});
