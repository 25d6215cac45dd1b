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

  function run(settings: Record<string, string> = {}): {
    status: number | null;
    lines: string[];
    calls: string[];
  } {
    const calls = join(folder, 'calls');
    writeFileSync(calls, '');
    const { status, stdout } = spawnSync(join(folder, '.ci/run'), {
      env: { PATH: `${bin}:${process.env.PATH}`, CALLS: calls, ...settings },
      encoding: 'utf8',
    });
    return {
      status,
      lines: stdout.trimEnd().split('\n'),
      calls: readFileSync(calls, 'utf8').trimEnd().split('\n'),
    };
  }

  it('runs every check, shows what ran beside others too, and counts the tests in its last line', () => {
    const { status, lines, calls } = run();
    expect(lines.at(-1)).toBe('60 passed, 0 failed');
    expect(status).toBe(0);
    expect(lines.filter((line) => line.startsWith('ran ')).sort()).toEqual(
      [
        'ci',
        'lint',
        'typecheck',
        'build',
        'test',
        'test:deep',
        'test:recipe',
        'test:faults',
        'test:cluster',
        'test:image',
      ]
        .map((name) => `ran ${name}`)
        .sort(),
    );
    expect(calls[0]).toBe('ci');
    // On the image's Node, and while others run the built service nothing builds it again.
    for (const name of ['test', 'test:faults', 'test:cluster'])
      expect(calls).toContainEqual(
        expect.stringMatching(`^run -s node24 -- npm run --ignore-scripts ${name} -- --json`),
      );
    // Answers are held to times there, so they come last, one after the other.
    expect(calls.slice(-2)).toEqual([
      expect.stringContaining('test:faults'),
      expect.stringContaining('test:cluster'),
    ]);
  });

  it.each([
    ['a step', { FAIL: 'build' }, '60 passed, 1 failed', 'npm run build'],
    ['a step beside others', { FAIL: 'lint' }, '60 passed, 1 failed', 'npm run lint'],
    ['tests', { FAIL: 'test' }, '58 passed, 2 failed', undefined],
    ['tests beside others', { FAIL: 'test:image' }, '58 passed, 2 failed', undefined],
    ['a run without tests', { SILENT: 'test:image' }, '50 passed, 1 failed', 'test:image (exit 0)'],
    [
      'a run that fails without a failed test',
      { CRASH: 'test' },
      '60 passed, 1 failed',
      '--ignore-scripts test (exit 1)',
    ],
    ['what was killed', { KILL: 'test:image' }, '50 passed, 1 failed', 'image did not reach its end'],
  ])('counts what fails: %s', (_, settings: Record<string, string>, last, named) => {
    const { status, lines } = run(settings);
    expect(lines.at(-1)).toBe(last);
    expect(status).toBe(1);
    if (named) expect(lines.filter((line) => line.startsWith('=== failed: ')).join()).toContain(named);
  });

  it('runs nothing that would need what could not be installed, if npm ci fails', () => {
    const { status, lines, calls } = run({ FAIL: 'ci' });
    expect(lines.at(-1)).toBe('0 passed, 1 failed');
    expect(status).toBe(1);
    expect(calls).toEqual(['ci']);
  });
});
